import { join } from 'node:path';
import { Api } from './api';
import { Bench, csvRun, folded } from './bench';
import { expect, test } from './test';

const SHOTS = join(import.meta.dirname, '..', 'shots');

let ended = '';
let bench = { older: '', run: '', flame: '', olderFlame: '' };

test.beforeAll(async ({ playwright, server }) => {
  const request = await playwright.request.newContext({ ignoreHTTPSErrors: true });
  const api = await Api.signIn(request, server);
  const image = await api.onlyImage('image');
  ended = (await api.startRestore({ store: 'image', ...image, sha256: true, simulateLatencyMs: 200, parallel: 2 })).id;
  await api.ended(ended);
  await expect.poll(() => api.inHistory(ended)).toBe(true);
  const lab = await Bench.signIn(request, server);
  const older = await lab.import('shots-older.csv', csvRun(1));
  const run = await lab.import('shots-newer.csv', csvRun(2, 1.2));
  const olderFlame = await lab.attach(run, 'before', folded(420));
  bench = { older, run, olderFlame, flame: await lab.attach(run, 'after', folded(180)) };
  await request.dispose();
});

test('every page', async ({ page, server }, { project }) => {
  const shot = async (name: string) => page.screenshot({ path: join(SHOTS, `${name}-${project.name}.png`), fullPage: name.startsWith('bench') });
  await page.goto('/');
  await expect(page.getByTestId('login-submit')).toBeVisible();
  await shot('login');

  const api = await Api.signIn(page.context().request, server);
  const image = await api.onlyImage('image');
  const running = await api.startRestore({ store: 'image', ...image, simulateLatencyMs: 900, parallel: 2 });
  const pages = [
    ['fleet', '/', 'fleet-grid'],
    ['store', '/store/golden', 'restore-open'],
    ['jobs', '/jobs', 'job-card'],
    ['job', `/jobs/${running.id}`, 'job-chart'],
    ['job-ended', `/jobs/${ended}`, 'job-chart'],
    ['history', '/history', 'history-row'],
    ['history-entry', `/history/${ended}`, 'history-chart'],
    ['bench', '/bench', 'bench-row'],
    ['bench-run', `/bench/runs/${bench.run}`, 'mail-text'],
    ['bench-compare', `/bench/compare?before=${bench.older}&after=${bench.run}`, 'mail-text'],
    ['bench-history', '/bench/history', 'series-chart'],
    ['bench-machines', '/bench/machines', 'machine'],
    ['bench-alerts', '/bench/alerts', 'alerts'],
    ['bench-flame', `/bench/flame?of=${bench.flame}&before=${bench.olderFlame}`, 'flame'],
    ['settings', '/settings', 'settings-logout'],
  ] as const;
  for (const [name, path, shows] of pages) {
    await page.goto(path);
    await expect(page.getByTestId(shows).first()).toBeVisible();
    if (name === 'job') await expect.poll(async () => (await api.job(running.id)).progress.bytes_done).toBeGreaterThan(0);
    await shot(name);
  }
  await page.goto('/store/golden?snapshot=vm%2F100%2F2024-05-01T10:00:00Z');
  await page.locator('[data-testid="restore-open"][data-file="drive-scsi0.img.fidx"]').click();
  await expect(page.getByTestId('restore-plan')).toHaveAttribute('aria-busy', 'false');
  await shot('restore');
});
