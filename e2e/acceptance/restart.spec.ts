import { Api } from '../support/api';
import { Server } from '../support/server';
import { expect, test } from '../support/test';

/** These tests break the server, so each has one of its own. */
let own: Server;

test.beforeEach(async () => {
  own = await Server.create();
});

test.afterEach(async () => {
  await own?.stop();
});

test('kill -9 in the middle of a restore: afterwards it is shown as interrupted', async ({ page }) => {
  const api = await Api.signIn(page.context().request, own.info);
  const image = await api.onlyImage('image');
  const { id } = await api.startRestore({ store: 'image', ...image, parallel: 1, simulateLatencyMs: 500 });
  await expect.poll(async () => (await api.job(id)).progress.bytes_done).toBeGreaterThan(0);

  await own.crash();
  await own.start();

  const again = await Api.signIn(page.context().request, own.info);
  expect((await again.job(id)).state).toBe('interrupted');
  await expect.poll(() => again.inHistory(id), 'the history learns of it').toBe(true);
  await page.goto(`${own.info.url}/jobs/${id}`);
  await expect(page.getByTestId('job-state').first()).toHaveAttribute('data-job-state', 'interrupted');
});

test('the page says that the server is away, and comes back by itself', async ({ page }) => {
  await Api.signIn(page.context().request, own.info);
  await page.goto(`${own.info.url}/`);
  const pill = page.getByTestId('conn-pill');
  await expect(page.getByTestId('fleet-grid')).toBeVisible();
  await expect(page.getByTestId('conn-banner')).toHaveCount(0);
  const live = await pill.getAttribute('data-state');

  await own.crash();
  await expect(pill).not.toHaveAttribute('data-state', live ?? '');
  await expect(page.getByTestId('fleet-grid'), 'the last good data stays').toBeVisible();
  await own.start();
  await expect(pill).toHaveAttribute('data-state', live ?? '', { timeout: 30_000 });
});
