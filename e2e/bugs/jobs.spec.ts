import { Api } from '../support/api';
import { job, withJobs, withoutFeed } from '../support/jobs';
import { expect, expectAccessible, expectNoSidewaysScroll, test } from '../support/test';

for (const width of [1440, 400]) {
  test(`a dozen failures are told apart and stay in their panels at ${width} px`, async ({ signedIn: page }) => {
    await page.setViewportSize({ width, height: 900 });
    await withoutFeed(page);
    const jobs = [1, 2, 3, 4].map((n) => job(n, n === 4 ? { source: { ...(job(4).source as object), store: 'other' } } : {}));
    await withJobs(page, jobs);
    const finished = page.getByTestId('jobs-finished');
    await expect(finished.getByRole('listitem').filter({ hasText: 'golden, 2 min' })).toHaveCount(1);
    await expect(finished.getByRole('listitem').filter({ hasText: 'other, 4 min' })).toHaveCount(1);
    const wide = await finished.locator('small').evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length);
    expect(wide).toBe(0);
    await expectNoSidewaysScroll(page);
    await expectAccessible(page);
  });
}

test('failures take a line each above what runs, and can be put away', async ({ signedIn: page, server }) => {
  const api = await Api.signIn(page.context().request, server);
  const image = await api.onlyImage('image');
  const running = await api.startRestore({ store: 'image', ...image, simulateLatencyMs: 3000, parallel: 1 });
  const failed = [job(1), job(2), job(3)];
  await withJobs(page, failed);
  const panel = page.getByTestId('jobs-failed');
  for (const { id } of failed) {
    const line = panel.locator(`[data-job="${id}"]`);
    expect((await line.boundingBox())?.height).toBeLessThan(60);
  }
  await expect(page.locator(`[data-testid="job-card"][data-job="${running.id}"]`)).toBeInViewport({ ratio: 0.5 });
  const line = panel.locator(`[data-job="${failed[1]?.id}"]`);
  await line.getByTestId('job-dismiss').click();
  await expect(line).toHaveCount(0);
  await page.locator('nav a[href="/"]').first().click();
  await page.locator('nav a[href="/jobs"]').first().click();
  await expect(panel.locator(`[data-job="${failed[0]?.id}"]`)).toBeVisible();
  await expect(line).toHaveCount(0);
  await page.getByTestId('job-cancel').first().click();
  await page.getByTestId('job-cancel-confirm').click();
  expect((await api.ended(running.id)).state).toBe('cancelled');
});

test('a job that was over at once has words instead of an empty chart, and to nowhere is checked, not written', async ({ signedIn: page }) => {
  await withoutFeed(page);
  const short = job(1, { state: 'ok', error: undefined });
  await withJobs(page, [short]);
  await page.getByTestId('jobs-finished').locator(`a[href="/jobs/${short.id}"]`).click();
  await expect(page.getByTestId('no-chart')).toBeVisible();
  await expect(page.getByTestId('job-chart')).toHaveCount(0);
  await expect(page.locator('.facts-row dt', { hasText: 'Checked' })).toHaveCount(1);
  await expect(page.locator('.facts-row dt', { hasText: 'Written' })).toHaveCount(0);
});
