import type { PlaywrightTestOptions, PlaywrightWorkerOptions } from '@playwright/test';

/** The system's Chromium, kept from calling home. The server signs its own certificate. */
export const chromium = {
  browserName: 'chromium',
  ignoreHTTPSErrors: true,
  launchOptions: {
    executablePath: process.env.FLEETHOLD_CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  },
} satisfies Partial<PlaywrightTestOptions & PlaywrightWorkerOptions>;
