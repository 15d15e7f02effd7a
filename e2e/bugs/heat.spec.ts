import type { Page } from '@playwright/test';
import { expect, test } from '../support/test';

/** The name in the readout. */
const named = (page: Page) => page.getByTestId('heat-readout').locator('.state');

test('pointing at a cell of the heat map names its store and its usage, a click opens it', async ({ signedIn: page }) => {
  await page.goto('/');
  const drawing = page.getByTestId('heat').locator('svg[role="img"]').first();
  const box = await drawing.boundingBox();
  if (!box) throw new Error('no heat map');
  await page.mouse.move(box.x + 2, box.y + 7);
  await expect(page.getByTestId('heat-readout')).toHaveText(/\S+.* · [\d.]+%/);
  const second = await named(page).innerText();
  await page.mouse.move(box.x + 2, box.y + 12);
  await expect(named(page)).not.toHaveText(second);
  const third = await named(page).innerText();
  await page.mouse.move(box.x, box.y - 60);
  await expect(page.getByTestId('heat-readout')).toBeEmpty();

  await page.mouse.click(box.x + 2, box.y + 12);
  await expect(page).toHaveURL(new RegExp(`/store/${third}$`));
});

test('arrows walk the heat map, Enter opens the picked store', async ({ signedIn: page }) => {
  await page.goto('/');
  await page.getByTestId('heat').focus();
  await page.keyboard.press('ArrowDown');
  const first = await named(page).innerText();
  await page.keyboard.press('ArrowDown');
  await expect(named(page)).not.toHaveText(first);
  const second = await named(page).innerText();
  await expect(page.getByTestId('heat').locator('.pick')).toHaveCount(1);
  await page.keyboard.press('ArrowUp');
  await expect(named(page)).toHaveText(first);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(new RegExp(`/store/${second}$`));
});
