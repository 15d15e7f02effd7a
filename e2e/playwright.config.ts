import { defineConfig } from '@playwright/test';
import { chromium } from './support/chromium';

/** One server, one worker: the tests share a fleet, and two cores are what CI has. */
export default defineConfig({
  testDir: '.',
  globalSetup: './support/global-setup.ts',
  outputDir: './test-results',
  fullyParallel: false,
  workers: 1,
  retries: 0,
  forbidOnly: true,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: process.env.PLAYWRIGHT_JSON_OUTPUT_NAME ? [['list'], ['json']] : [['list']],
  use: { ...chromium, trace: 'retain-on-failure', screenshot: 'only-on-failure' },
  projects: [
    { name: 'acceptance', testMatch: 'acceptance/**/*.spec.ts', use: { viewport: { width: 1440, height: 900 } } },
    { name: 'bugs', testMatch: 'bugs/**/*.spec.ts', use: { viewport: { width: 1440, height: 900 } } },
    {
      name: 'routes-light',
      testMatch: 'routes/**/*.spec.ts',
      use: { viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
    },
    {
      name: 'routes-dark',
      testMatch: 'routes/**/*.spec.ts',
      use: { viewport: { width: 1440, height: 900 }, colorScheme: 'dark' },
    },
    {
      name: 'routes-phone',
      testMatch: 'routes/**/*.spec.ts',
      use: { viewport: { width: 400, height: 800 }, colorScheme: 'dark', hasTouch: true },
    },
  ],
});
