import { Api } from '../support/api';
import { expect, test } from '../support/test';

// half an hour off every other zone: a time that ignores the zone shows
test.use({ timezoneId: 'Asia/Kolkata' });

const SNAPSHOT = 'vm/100/2024-05-01T10:00:00Z';

test('snapshots stand in UTC, as they are named, and say so', async ({ signedIn: page }) => {
  await page.goto(`/store/golden?snapshot=${encodeURIComponent(SNAPSHOT)}`);
  const row = page.getByTestId(`snapshot-${SNAPSHOT}`);
  await expect(row).toContainText('2024-05-01 10:00:00 UTC');
  await expect(row.locator('[title]').first()).toHaveAttribute('title', /10:00:00 UTC = 2024-05-01 15:30:00 UTC\+5:30.*UTC, as in their names/);
  await expect(page.getByTestId('snapshot-detail').locator('time')).toHaveText('2024-05-01 10:00:00 UTC');
});

test('a job and its log tell one time, with its zone', async ({ signedIn: page, server }) => {
  const api = await Api.signIn(page.context().request, server);
  const image = await api.onlyImage('image');
  const { id } = await api.startRestore({ store: 'image', ...image });
  await api.ended(id);
  await page.goto(`/jobs/${id}`);
  const started = (await page.getByTestId('job-started').innerText()).match(/\d{4}-\S+ [\d:]{8} UTC\+5:30/)?.[0];
  expect(started).toBeTruthy();
  const first = page.getByTestId('job-log').locator('span').first();
  await expect(first).toContainText(/^\d{4}-\S+ [\d:]{8} UTC\+5:30: /);
  const stamp = (text: string) => Date.parse(text.slice(0, 19).replace(' ', 'T'));
  expect(Math.abs(stamp(await first.innerText()) - stamp(started ?? ''))).toBeLessThan(5_000);
});
