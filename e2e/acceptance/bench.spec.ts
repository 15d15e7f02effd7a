import { readFile } from 'node:fs/promises';
import { Bench, csvRun, folded } from '../support/bench';
import { Server } from '../support/server';
import { expect, expectAccessible, expectNoSidewaysScroll, test } from '../support/test';

/** A run measures for half a minute and more on a busy machine: what is waited for has to come, not to come soon. */
const MEASURED = 240_000;

test('a run from the page: live samples, comparison, export, and the permalink after a restart', async ({ page }) => {
  test.setTimeout(420_000);
  const own = await Server.create();
  try {
    await Bench.signIn(page.context().request, own.info);
    await page.goto(`${own.info.url}/bench`);
    await page.getByTestId('run-lookup').click();
    await expect(page.getByTestId('bench-quick')).toBeChecked();
    await page.getByTestId('bench-samples').fill('0');
    await expect(page.getByTestId('bench-start')).toBeDisabled();
    await page.getByTestId('bench-samples').fill('2');
    await page.getByTestId('bench-reason').fill('acceptance');
    await page.getByTestId('bench-start').click();

    await expect(page).toHaveURL(/\/bench\/runs\/[0-9a-f-]{36}$/);
    const count = page.getByTestId('live-count');
    await expect(count, 'samples arrive while it measures').toBeVisible({ timeout: MEASURED });
    const first = Number(await count.getAttribute('data-count'));
    await expect
      .poll(async () => ((await count.count()) > 0 ? Number(await count.getAttribute('data-count')) : Infinity), {
        timeout: MEASURED,
      })
      .toBeGreaterThan(first);

    await expect(page.getByTestId('bench-state').first()).toHaveAttribute('data-bench-state', 'ok', { timeout: MEASURED });
    const sentence = await page.getByTestId('verdict-sentence').innerText();
    expect(sentence, 'two samples a side can never show a difference').toMatch(/Inconclusive/);
    await page.getByTestId('cell-bulk-drop-1000x1').click();
    await expect(page).toHaveURL(/cell=bulk-drop%401000x1/);
    await expect(page.getByTestId('mail-text')).toContainText('lookup by MxN');

    await page.getByTestId('export-menu').locator('summary').click();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByTestId('export-gobench').click()]);
    expect(await readFile(await download.path(), 'utf8')).toContain('Benchmark');

    const bench = await Bench.signIn(page.context().request, own.info);
    const id = /runs\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';
    await expect.poll(async () => (await bench.run(id)).stored, { timeout: 60_000 }).toBe(true);
    const permalink = (await page.getByTestId('permalink').getAttribute('data-href')) ?? '';
    expect(permalink).toContain(`/bench/runs/${id}`);

    await own.crash();
    await own.start();
    await Bench.signIn(page.context().request, own.info);
    await expect
      .poll(async () => (await page.context().request.get(`${own.info.url}/api/v1/bench/runs/${id}`)).status(), {
        timeout: 60_000,
      })
      .toBe(200);
    await page.goto(permalink);
    await expect(page.getByTestId('verdict-sentence')).toHaveText(sentence);
  } finally {
    await own.stop();
  }
});

test('two imported runs: dry run, comparison, permalink, series, outlier', async ({ signedIn: page, server }) => {
  const bench = await Bench.signIn(page.context().request, server);
  const before = await bench.import('older.csv', csvRun(101));
  await page.goto('/bench');
  await page.getByTestId('bench-import').click();
  await page.getByTestId('import-file').setInputFiles({ name: 'newer.csv', mimeType: 'text/csv', buffer: Buffer.from(csvRun(102, 1.2)) });
  await expect(page.getByTestId('import-report')).toContainText('restore');
  await page.getByTestId('import-store').click();
  await expect(page).toHaveURL(/\/bench\/runs\//);
  const after = /runs\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';
  await expect(page.getByTestId('verdict-sentence')).toContainText('Faster in');

  await page.goto('/bench/compare');
  await page.getByTestId('cmp-before').selectOption(before);
  await page.getByTestId('cmp-after').selectOption(after);
  await expect(page.getByTestId('verdict-sentence')).toContainText('Faster in');
  await expect(page).toHaveURL(new RegExp(`before=${before}`));
  await page.getByTestId('metric-cpu').click();
  await expect(page).toHaveURL(/metric=cpu/);
  await page.getByTestId('shape-ecdf').click();
  await expect(page.getByTestId('cell-detail')).toHaveAttribute('data-shape', 'ecdf');

  await page.goto('/bench/history');
  await expect(page.getByTestId('series-chart')).toBeVisible();
  await page.getByTestId('series-chart').getByRole('group', { name: /History of/ }).press('Home');
  await expect(page.getByTestId('series-point')).toBeVisible();
  await page.getByTestId('mark-outlier').click();
  await page.getByTestId('say-reason').fill('a rebuild ran beside it');
  await page.getByTestId('say-it').click();
  await expect(page.getByTestId('annotation')).toContainText('a rebuild ran beside it');
  await page.getByTestId('withdraw').click();
  await expect(page.getByTestId('annotation')).toContainText('Withdrawn');
});

test('a file that is no measurement is refused with the reason', async ({ signedIn: page }) => {
  await page.goto('/bench');
  await page.getByTestId('bench-import').click();
  await page.getByTestId('import-file').setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('{"results":[{}') });
  await expect(page.getByTestId('import-dialog').getByTestId('problem')).toBeVisible();
  await expect(page.getByTestId('import-store')).toBeDisabled();
});

test('a flame graph is searched, zoomed by keys and read as a difference', async ({ signedIn: page, server }) => {
  const bench = await Bench.signIn(page.context().request, server);
  const run = await bench.import('flame.csv', csvRun(103));
  const older = await bench.attach(run, 'before', folded(420));
  const newer = await bench.attach(run, 'after', folded(180));
  await page.goto(`/bench/flame?of=${newer}&before=${older}`);
  await page.getByTestId('flame-search').fill('sha256');
  await expect(page.getByTestId('flame-found')).toContainText('2 frames');
  await page.getByTestId('flame').press('ArrowUp');
  await page.getByTestId('flame').press('ArrowUp');
  await expect(page.getByTestId('flame-read')).toContainText('main');
  await page.getByTestId('flame').press('Enter');
  await expect(page.getByTestId('flame-table').getByRole('row', { name: /sha256_block/ })).toContainText('−');
  await page.getByTestId('flame-icicle').click();
  await expect(page).toHaveURL(/shape=icicle/);
});

test('an alert shows without a reload: in the navigation, in the list, and no more when somebody knows', async ({ signedIn: page, server }) => {
  const bench = await Bench.signIn(page.context().request, server);
  const id = await bench.import('quiet.csv', csvRun(301));
  await page.goto('/bench/alerts');
  await expect(page.getByTestId('alerts')).toBeVisible();
  await expect(page.getByTestId('conn-pill')).toHaveAttribute('data-state', 'ok');
  const standing = page.getByTestId('alerts-standing');
  await expect(standing).toHaveCount(0);
  await bench.measuredHere(server, id, 1.001, 1);
  await bench.measuredHere(server, id, 0.7, 2);

  const open = page.locator('[data-testid="alert"][data-alert-state="open"]');
  await expect(open.first(), 'nobody reloads').toBeVisible({ timeout: 60_000 });
  const count = await open.count();
  await expect(standing).toContainText(String(count));
  await expectAccessible(page);
  await open.first().getByTestId('alert-acknowledged').click();
  await page.getByTestId('alert-reason').fill('a slower disk');
  await page.getByTestId('alert-change').click();
  if (count > 1) await expect(standing).toContainText(String(count - 1));
  else await expect(standing).toHaveCount(0);
});

test('a link that names revisions ends at the ids of their runs, which are kept', async ({ signedIn: page, server }) => {
  const bench = await Bench.signIn(page.context().request, server);
  const before = await bench.import('rev-a.csv', csvRun(303));
  const after = await bench.import('rev-b.csv', csvRun(304, 1.2));
  const revisions: Record<string, string> = { [before]: '8c1f04e0aa', [after]: 'd27ab91f00' };
  // files of other tools name no commit
  await page.route(/\/api\/v1\/bench\/runs\?/, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    for (const run of json.items) run.revision = revisions[run.id] ?? run.revision;
    await route.fulfill({ response, json });
  });
  await page.goto('/bench/compare?workload=restore&before=8c1f04e&after=d27ab91');
  await expect(page).toHaveURL(new RegExp(`before=${before}`));
  await expect(page).toHaveURL(new RegExp(`after=${after}`));
  await expect(page.getByTestId('verdict-sentence')).toContainText('Faster in');
  await expect.poll(async () => (await bench.run(before)).pinned && (await bench.run(after)).pinned).toBe(true);

  await page.goto(`/bench/compare?before=0000000&after=${after}`);
  await expect(page.getByTestId('problem')).toContainText('0000000');
});

test('one sentence for page and mail, and no word of German breaks it', async ({ browser, signedIn: page, server }) => {
  const bench = await Bench.signIn(page.context().request, server);
  for (let i = 0; i < 8; i++) await bench.import(`step-${i}.csv`, csvRun(310 + i, i < 4 ? 1 : 1.6));
  const run = await bench.import('sentence.csv', csvRun(302, 1.1));
  await page.goto(`/bench/runs/${run}`);
  const sentence = await page.getByTestId('verdict-sentence').innerText();
  expect(sentence, 'six cells and three of the control').toMatch(/6 cells.* Control: .*3 cells/);
  const words = (await page.getByTestId('mail-text').innerText()).replace(/\s+/g, ' ');
  expect(words).toContain(`rate: ${sentence}`);

  const german = await browser.newContext({ locale: 'de-DE', viewport: { width: 400, height: 800 }, ignoreHTTPSErrors: true, baseURL: server.url });
  try {
    await Bench.signIn(german.request, server);
    const phone = await german.newPage();
    for (const [path, shows] of [[`/bench/runs/${run}`, 'mail-text'], ['/bench/history', 'series-chart'], ['/bench', 'bench-row']] as const) {
      await phone.goto(path);
      await expect(phone.getByTestId(shows).first()).toBeVisible();
      await expectNoSidewaysScroll(phone);
    }
    await phone.goto(`/bench/runs/${run}`);
    await expect(phone.getByTestId('verdict-sentence')).toHaveText(sentence);
    await expect(phone.getByTestId('change-points').first()).toBeVisible();
    await expectNoSidewaysScroll(phone);
    const knob = phone.locator('.matrix thead th').first();
    const lines = await knob.evaluate((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getClientRects().length;
    });
    expect(lines, 'the name of the knob stands in one line').toBe(1);
  } finally {
    await german.close();
  }
});
