import { Api } from '../support/api';
import { Bench, csvRun, folded } from '../support/bench';
import { expect, expectAccessible, expectNoSidewaysScroll, test } from '../support/test';

/** Every page with what proves that it has its data. `{job}` is an ended restore; the others are of the benchmark lab. */
const PAGES = [
  { name: 'fleet', path: '/', shows: /^store-row-/ },
  { name: 'store', path: '/store/golden', shows: 'restore-open' },
  { name: 'jobs', path: '/jobs', shows: 'job-card' },
  { name: 'job', path: '/jobs/{job}', shows: 'job-chart' },
  { name: 'history', path: '/history', shows: 'history-row' },
  { name: 'history entry', path: '/history/{job}', shows: 'history-chart' },
  { name: 'benchmarks', path: '/bench', shows: 'bench-row' },
  { name: 'benchmark run', path: '/bench/runs/{run}', shows: 'mail-text' },
  { name: 'comparison', path: '/bench/compare?before={older}&after={run}', shows: 'mail-text' },
  { name: 'series', path: '/bench/history', shows: 'series-chart' },
  { name: 'machines', path: '/bench/machines', shows: 'machine' },
  { name: 'alerts', path: '/bench/alerts', shows: 'alerts' },
  { name: 'flame graph', path: '/bench/flame?of={flame}&before={olderFlame}', shows: 'flame' },
  { name: 'settings', path: '/settings', shows: 'settings-logout' },
];

let ids: Record<string, string> = {};

test.beforeAll(async ({ playwright, server }) => {
  const request = await playwright.request.newContext({ ignoreHTTPSErrors: true });
  const api = await Api.signIn(request, server);
  const image = await api.onlyImage('image');
  const job = (await api.startRestore({ store: 'image', ...image, sha256: true, simulateLatencyMs: 150, parallel: 2 })).id;
  expect((await api.ended(job)).state).toBe('ok');
  await expect.poll(() => api.inHistory(job)).toBe(true);
  const bench = await Bench.signIn(request, server);
  const older = await bench.import('routes-older.csv', csvRun(1));
  const run = await bench.import('routes-newer.csv', csvRun(2, 1.2));
  const olderFlame = await bench.attach(run, 'before', folded(420));
  const flame = await bench.attach(run, 'after', folded(180));
  ids = { job, older, run, olderFlame, flame };
  await request.dispose();
});

for (const { name, path, shows } of PAGES) {
  test(`${name}: renders, is accessible, fits`, async ({ signedIn: page }) => {
    await page.goto(path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? ''));
    await expect(page.getByTestId(shows).first()).toBeVisible();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
  });
}

test('log-in: renders, is accessible, fits', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByTestId('login-submit')).toBeVisible();
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
});

test('the colours follow the system', async ({ signedIn: page, colorScheme }) => {
  await page.goto('/');
  await expect(page.getByTestId('fleet-grid')).toBeVisible();
  const brightness = await page.evaluate(() => {
    const probe = document.createElement('canvas').getContext('2d');
    if (!probe) throw new Error('no canvas');
    probe.fillStyle = getComputedStyle(document.body).backgroundColor;
    probe.fillRect(0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0] = probe.getImageData(0, 0, 1, 1).data;
    return (red + green + blue) / 3;
  });
  if (colorScheme === 'dark') expect(brightness).toBeLessThan(80);
  else expect(brightness).toBeGreaterThan(200);
});
