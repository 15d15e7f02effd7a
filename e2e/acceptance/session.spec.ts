import { GENERATED_STORES } from '../support/server';
import { expect, logIn, test } from '../support/test';

test('a wrong password is refused in words', async ({ page, server }) => {
  await page.goto('/');
  await page.getByTestId('login-user').fill(server.user);
  await page.getByTestId('login-password').fill('not the password');
  await page.getByTestId('login-submit').click();
  await expect(page.getByTestId('login-error')).not.toBeEmpty();
  await expect(page.getByTestId('fleet-grid')).toHaveCount(0);
});

test('a reload stays signed in, a log-out does not', async ({ page, server }) => {
  await logIn(page, server);
  await page.reload();
  await expect(page.getByTestId('fleet-grid')).toBeVisible();
  await page.getByTestId('logout').first().click();
  await expect(page.getByTestId('login-submit')).toBeVisible();
  await page.reload();
  await expect(page.getByTestId('login-submit')).toBeVisible();
  expect((await page.request.get('/api/v1/stores')).status()).toBe(401);
});

test('the fleet shows every store and a search narrows it, also after a reload', async ({ signedIn: page }) => {
  const all = GENERATED_STORES + 3;
  await page.goto('/');
  await expect(page.getByTestId('fleet-grid')).toHaveAttribute('aria-rowcount', String(all + 1));
  await page.getByTestId('fleet-search').fill('name:golden');
  await expect(page.getByTestId('fleet-grid')).toHaveAttribute('aria-rowcount', '3');
  await page.reload();
  await expect(page.getByTestId('fleet-search')).toHaveValue('name:golden');
  await expect(page.getByTestId('fleet-grid')).toHaveAttribute('aria-rowcount', '3');
});

test('the theme is switched by hand and kept', async ({ signedIn: page }) => {
  await page.goto('/');
  const theme = () => page.locator('html').getAttribute('data-theme');
  await page.getByTestId('theme-toggle').first().click();
  await expect.poll(theme).not.toBeNull();
  const chosen = await theme();
  await page.reload();
  await expect(page.getByTestId('fleet-grid')).toBeVisible();
  expect(await theme()).toBe(chosen);
});
