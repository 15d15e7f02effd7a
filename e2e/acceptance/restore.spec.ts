import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { Api } from '../support/api';
import { goldenFile } from '../support/golden';
import { expect, expectAccessible, logIn, test } from '../support/test';

const SNAPSHOT = 'vm/100/2024-05-01T10:00:00Z';
const IMAGE = 'drive-scsi0.img.fidx';

/** From the fleet, by search, to a store's page. */
async function openStore(page: Page, name: string): Promise<void> {
  await page.getByTestId('fleet-search').fill(`name:${name}`);
  await page.getByTestId(`store-row-${name}`).getByText(name, { exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`/store/${name}$`));
}

/** From a store's page to the restore dialog of one file. */
async function openRestore(page: Page, snapshot: string, file: string): Promise<void> {
  const [group] = snapshot.match(/^[^/]+\/[^/]+/) ?? [];
  await page.getByTestId(`group-${group}`).click();
  await page.getByTestId(`snapshot-${snapshot}`).click();
  await page.getByTestId(`file-${file}`).getByTestId('restore-open').click();
  await expect(page.getByTestId('restore-start')).toBeVisible();
}

/** The chart as it looks now; a chart that moves looks different a moment later. */
async function picture(chart: Locator): Promise<string> {
  return createHash('sha256')
    .update(await chart.locator('canvas').first().screenshot())
    .digest('hex');
}

test('from the log-in to a restored file with the right digest, watched live', async ({ page, server }) => {
  const expected = goldenFile(SNAPSHOT, IMAGE);
  await logIn(page, server);
  await openStore(page, 'golden');
  await openRestore(page, SNAPSHOT, IMAGE);
  await expectAccessible(page);

  await page.getByTestId('restore-target-kind').selectOption('file');
  await page.getByTestId('restore-target-path').fill('acceptance.raw');
  await page.getByTestId('restore-sha256').check();
  // Slow enough to be watched: six chunks, one after the other.
  await page.getByTestId('restore-parallel').fill('1');
  await page.getByTestId('restore-latency').fill('800');
  await page.getByTestId('restore-start').click();

  await expect(page).toHaveURL(/\/jobs\/[0-9a-f-]{36}$/);
  await expect(page.getByTestId('job-state').first()).toHaveAttribute('data-job-state', 'running');
  const chart = page.getByTestId('job-chart');
  await expect(chart).toBeVisible();
  const before = await picture(chart);
  await expect.poll(() => picture(chart), 'the chart moves').not.toBe(before);

  const target = join(server.restoreRoot, 'acceptance.raw');
  expect(existsSync(target), 'nothing stands under the final name before the end').toBe(false);

  await expect(page.getByTestId('job-state').first()).toHaveAttribute('data-job-state', 'ok', { timeout: 30_000 });
  await expect(page.getByTestId('job-sha256')).toContainText(expected['plain-sha256']);
  const restored = readFileSync(target);
  expect(restored.length).toBe(expected['plain-size']);
  expect(createHash('sha256').update(restored).digest('hex')).toBe(expected['plain-sha256']);
});

test('a running restore is cancelled, a reload keeps what is shown', async ({ page, server }) => {
  await logIn(page, server);
  const api = await Api.signIn(page.context().request, server);
  const { snapshot, archive } = await api.onlyImage('image');
  await openStore(page, 'image');
  await openRestore(page, snapshot, archive);
  await page.getByTestId('restore-target-kind').selectOption('null');
  await page.getByTestId('restore-parallel').fill('1');
  await page.getByTestId('restore-latency').fill('2000');
  await page.getByTestId('restore-start').click();

  await expect(page).toHaveURL(/\/jobs\/[0-9a-f-]{36}$/);
  const id = page.url().split('/').at(-1) ?? '';
  await expect(page.getByTestId('job-state').first()).toHaveAttribute('data-job-state', 'running');
  await page.reload();
  await expect(page.getByTestId('job-state').first()).toHaveAttribute('data-job-state', 'running');

  await page.getByTestId('job-cancel').first().click();
  await page.getByTestId('job-cancel-confirm').click();
  await expect(page.getByTestId('job-state').first()).toHaveAttribute('data-job-state', 'cancelled');
  expect((await api.job(id)).state).toBe('cancelled');

  await page.reload();
  await expect(page.getByTestId('job-state').first()).toHaveAttribute('data-job-state', 'cancelled');
  await page.goto('/jobs');
  await expect(page.locator(`a[href="/jobs/${id}"]`).first()).toBeVisible();
});

test('an encrypted image is restored with its key and refused without', async ({ signedIn: page, server }) => {
  const snapshot = 'vm/101/2024-05-01T11:00:00Z';
  const file = 'drive-virtio0.img.fidx';
  const expected = goldenFile(snapshot, file);
  const api = await Api.signIn(page.context().request, server);

  const refused = await api.startRestore({ store: 'golden', snapshot, archive: file }).catch((error: Error) => error);
  if (!(refused instanceof Error)) expect((await api.ended(refused.id)).state).toBe('failed');

  await page.goto('/store/golden');
  await openRestore(page, snapshot, file);
  await page.getByTestId('restore-target-kind').selectOption('null');
  await page.getByTestId('restore-sha256').check();
  await page.getByTestId('restore-key').setInputFiles(join(process.env.FLEETHOLD_GOLDEN ?? '', 'encryption-key.json'));
  await page.getByTestId('restore-start').click();
  await expect(page.getByTestId('job-state').first()).toHaveAttribute('data-job-state', 'ok');
  await expect(page.getByTestId('job-sha256')).toContainText(expected['plain-sha256']);
});

test('an ended restore stays in the history with its chart', async ({ signedIn: page, server }) => {
  const api = await Api.signIn(page.context().request, server);
  const image = await api.onlyImage('image');
  const { id } = await api.startRestore({ store: 'image', ...image, parallel: 4, simulateLatencyMs: 250 });
  expect((await api.ended(id)).state).toBe('ok');
  await expect.poll(() => api.inHistory(id), 'PostgreSQL has it').toBe(true);

  await page.goto('/history');
  await page.locator(`[data-testid="history-row"][data-job="${id}"]`).getByRole('rowheader').getByRole('link').click();
  await expect(page).toHaveURL(new RegExp(`/history/${id}`));
  await expect(page.getByTestId('history-chart')).toBeVisible();
});
