import base from './playwright.config';

/** `npm run shots`: a picture of every page, in e2e/shots, to lay beside the mockups. */
export default {
  ...base,
  projects: ([['light', 1440, 900], ['dark', 1440, 900], ['light', 400, 860], ['dark', 400, 860]] as const).map(
    ([colorScheme, width, height]) => ({
      name: `${colorScheme}-${width}`,
      testMatch: 'support/shots.ts',
      use: { viewport: { width, height }, colorScheme, hasTouch: width < 600 },
    }),
  ),
};
