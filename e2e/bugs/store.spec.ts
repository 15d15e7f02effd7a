import { Api } from '../support/api';
import { expect, expectAccessible, expectNoSidewaysScroll, test } from '../support/test';

test('a failed verification leads to its snapshot', async ({ signedIn: page, server }) => {
  await Api.signIn(page.context().request, server);
  const reply = await page.request.get('/api/v1/stores?limit=2000');
  const stores = ((await reply.json()) as { items: { name: string; verify_failed?: number }[] }).items;
  const name = stores.find((store) => (store.verify_failed ?? 0) > 0)?.name;
  expect(name, 'the fixture has a store with a failed verification').toBeTruthy();
  await page.goto(`/store/${name}`);
  await page.getByTestId('show-failed').click();
  await expect(page).toHaveURL(/snapshot=/);
  await expect(page.getByTestId('snapshot-detail').locator('.panel-head')).toContainText('Damaged');
});

test('a link to a snapshot that is gone says so', async ({ signedIn: page }) => {
  for (const gone of ['vm/100/1999-01-01T00:00:00Z', 'vm/999/2024-05-01T10:00:00Z']) {
    await page.goto(`/store/golden?snapshot=${encodeURIComponent(gone)}`);
    await expect(page.getByTestId('snapshot-gone')).toContainText(gone);
  }
  await expectAccessible(page);
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 400, height: 800 }, hasTouch: true });

  test('choosing a snapshot brings its details into view', async ({ signedIn: page }) => {
    await page.goto('/store/golden');
    await page.getByTestId('group-vm/100').click();
    await page.getByTestId('snapshot-vm/100/2024-05-01T10:00:00Z').click();
    // the details begin above half of the screen, not at its edge
    const top = () => page.getByTestId('snapshot-detail').evaluate((one) => one.getBoundingClientRect().top);
    await expect.poll(top).toBeLessThan(480);
    const heading = page.getByTestId('snapshot-detail').getByRole('heading', { name: 'vm/100/2024-05-01T10:00:00Z' });
    await expect(heading).toBeInViewport();
    // once more, and nothing changes but the place
    await page.evaluate(() => scrollTo(0, 0));
    await page.getByTestId('snapshot-vm/100/2024-05-01T10:00:00Z').click();
    await expect(heading).toBeInViewport();
  });

  test('figures of a store are neither cut nor broken', async ({ signedIn: page }) => {
    await page.goto('/store/golden');
    const strip = page.locator('.strip.s5');
    await expect(strip).toContainText(/\d+ \w+ ago/);
    const cut = await strip.locator('dt').evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent));
    expect(cut).toEqual([]);
    const age = strip.locator('dd.v', { hasText: 'ago' });
    const lines = await age.evaluate((one) => one.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(one).lineHeight));
    expect(lines).toBeLessThan(1.5);
  });

  test('the history is a list of two-line cards', async ({ signedIn: page, server }) => {
    const api = await Api.signIn(page.context().request, server);
    const image = await api.onlyImage('image');
    const { id } = await api.startRestore({ store: 'image', ...image });
    await api.ended(id);
    await expect.poll(() => api.inHistory(id)).toBe(true);
    await page.goto('/history');
    const row = page.locator(`[data-testid="history-row"][data-job="${id}"]`);
    await expect(row).toBeVisible();
    const { right, height } = await row.evaluate((one) => one.getBoundingClientRect());
    expect(right).toBeLessThanOrEqual(400);
    expect(height).toBeLessThan(80);
    await expect(row.getByText('Done')).toBeInViewport();
    await expectNoSidewaysScroll(page);
    const region = await page.locator('.scroll-x').first().evaluate((one) => one.scrollWidth - one.clientWidth);
    expect(region).toBeLessThanOrEqual(1);
    await expectAccessible(page);
  });
});
