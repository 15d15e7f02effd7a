import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { goldenDir } from '../support/server';
import { expect, test } from '../support/test';

interface Expected {
  store: string;
  key: string;
  ns: string;
  snapshot: string;
  file: string;
  encrypted: boolean;
  sha256: string;
}

/** Every file that a golden store's writer listed with its digest. */
function expectedFiles(store: string, list: string, key: string): Expected[] {
  const { files } = JSON.parse(readFileSync(join(goldenDir(), list), 'utf8')) as { files: Record<string, string>[] };
  return files.flatMap((entry) => {
    const sha256 = entry['plain-sha256'];
    if (!sha256) return [];
    const file = entry.file ?? '';
    // A log is in no manifest: it is kept like the files it came with.
    const like = entry['crypt-mode'] === '?' ? files.filter((other) => other.path === entry.path) : [entry];
    const encrypted = like.some((other) => /encrypt/i.test(other['crypt-mode'] ?? ''));
    // `path` is relative to the store: `[ns/NAME/]…TYPE/ID/TIME`.
    const parts = (entry.path ?? '').split('/');
    const snapshot = parts.slice(-3).join('/');
    const ns = parts.slice(0, -3).filter((_, index) => index % 2 === 1).join('/');
    return [{ store, key, ns, snapshot, file, encrypted, sha256 }];
  });
}

test('every file of both golden stores, as a job from the page', async ({ signedIn: page }) => {
  test.setTimeout(300_000);
  const files = [
    ...expectedFiles('golden', 'expected.json', 'encryption-key.json'),
    ...expectedFiles('golden-real', 'real/expected-real.json', 'real/enc.key'),
  ];
  expect(files.filter(({ file }) => /\.[fd]idx$/.test(file)).length).toBeGreaterThan(15);
  for (const { store, key, ns, snapshot, file, encrypted, sha256 } of files) {
    await test.step(`${store} ${ns} ${snapshot} ${file}`, async () => {
      const query = new URLSearchParams({ ns, snapshot, restore: file });
      await page.goto(`/store/${store}?${query}`);
      await page.getByTestId('restore-target-kind').selectOption('null');
      await page.getByTestId('restore-sha256').check();
      if (encrypted) await page.getByTestId('restore-key').setInputFiles(join(goldenDir(), key));
      await page.getByTestId('restore-start').click();
      await expect(page).toHaveURL(/\/jobs\//);
      await expect(page.getByTestId('job-state').first()).toHaveAttribute('data-job-state', 'ok');
      await expect(page.getByTestId('job-sha256')).toContainText(sha256);
    });
  }
});
