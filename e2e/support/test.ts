import AxeBuilder from '@axe-core/playwright';
import { test as base, expect, type Page } from '@playwright/test';
import type { ServerInfo } from './server';

interface Fixtures {
  server: ServerInfo;
  /** A page whose browser is signed in already. */
  signedIn: Page;
}

/** `test` with the running server; any error in the page's console fails the test. */
export const test = base.extend<Fixtures>({
  server: async ({}, use) => {
    await use(JSON.parse(process.env.FLEETHOLD_E2E ?? 'null') as ServerInfo);
  },
  baseURL: async ({ server }, use) => {
    await use(server.url);
  },
  page: async ({ page }, use) => {
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !expectedInConsole(message.text())) errors.push(message.text());
    });
    await use(page);
    expect(errors, 'errors in the console').toEqual([]);
  },
  signedIn: async ({ page, server }, use) => {
    const reply = await page.context().request.post(`${server.url}/api/v1/session`, {
      data: { user: server.user, password: server.password },
    });
    expect(reply.status(), await reply.text()).toBe(200);
    await use(page);
  },
});

/** Chromium reports every failed request; whether one is wrong is for the page to show and a test to say. */
function expectedInConsole(text: string): boolean {
  return text.startsWith('Failed to load resource');
}

/** Signs in as a person does. */
export async function logIn(page: Page, server: ServerInfo): Promise<void> {
  await page.goto('/');
  await page.getByTestId('login-user').fill(server.user);
  await page.getByTestId('login-password').fill(server.password);
  await page.getByTestId('login-submit').click();
  await expect(page.getByTestId('fleet-grid')).toBeVisible();
}

/** No violation of WCAG 2 A and AA, nor of axe's best practices. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.map(({ id, help, nodes }) => ({ id, help, at: nodes.map((node) => node.target.join(' ')) }));
  expect(found).toEqual([]);
}

/** The page itself never scrolls sideways; a table may, inside its own box. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const { content, window } = await page.evaluate(() => ({
    content: document.documentElement.scrollWidth,
    window: document.documentElement.clientWidth,
  }));
  expect(content).toBeLessThanOrEqual(window);
}

export { expect };
