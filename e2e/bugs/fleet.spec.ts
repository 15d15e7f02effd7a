import { expect, test } from '../support/test';

test('a whole header cell sorts, and Back takes the sort back', async ({ signedIn: page }) => {
  await page.goto('/');
  const header = page.getByRole('columnheader', { name: 'Size' });
  const box = await header.boundingBox();
  if (!box) throw new Error('no header');
  // far from the word, which stands at the right
  await page.mouse.click(box.x + 3, box.y + box.height - 3);
  await expect(page).toHaveURL(/sort=-size/);
  await expect(header).toHaveAttribute('aria-sort', 'descending');
  await page.goBack();
  await expect(page).toHaveURL(/\/$/);
  await expect(header).not.toHaveAttribute('aria-sort', /./);
});

test('the grid is one tab stop; the search leads into it, arrows reach its header', async ({ signedIn: page }) => {
  await page.goto('/');
  const grid = page.getByTestId('fleet-grid');
  await expect(grid.locator('[tabindex="0"]')).toHaveCount(1);
  await expect(grid.locator('button:not([tabindex="-1"])')).toHaveCount(0);
  for (const key of ['ArrowDown', 'Enter']) {
    await page.getByTestId('fleet-search').focus();
    await page.keyboard.press(key);
    await expect(grid.locator('[data-index="0"]')).toBeFocused();
  }
  await page.keyboard.press('ArrowUp');
  await expect(page.getByTestId('sort-state')).toBeFocused();
  await page.keyboard.press('ArrowRight');
  await expect(page.getByTestId('sort-name')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/sort=name/);
  await page.keyboard.press('ArrowDown');
  await expect(grid.locator('[data-index="0"]')).toBeFocused();
});

test('a figure of the strip narrows the fleet, and on the second click no more', async ({ signedIn: page }) => {
  await page.goto('/');
  const errors = page.getByTestId('strip-error');
  await errors.click();
  await expect(page.getByTestId('fleet-search')).toHaveValue('state:error');
  await expect(errors).toHaveAttribute('aria-pressed', 'true');
  await errors.click();
  await expect(page.getByTestId('fleet-search')).toHaveValue('');
  await expect(errors).toHaveAttribute('aria-pressed', 'false');
});

test('a state that does not exist is told, with those that do', async ({ signedIn: page }) => {
  await page.goto('/');
  await page.getByTestId('fleet-search').fill('state:erorr');
  await expect(page.locator('#q-note')).toContainText('state:erorr (expected one of ok, warning, error');
});
