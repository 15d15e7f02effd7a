import type { Page } from '@playwright/test';

const ID = '01970000-0000-7000-8000-000000000';

/** A job as the API gives it, ended as asked for; what is not given is a small failed restore. */
export function job(n: number, more: Record<string, unknown> = {}): Record<string, unknown> & { id: string } {
  const ended = new Date(Date.now() - n * 60_000).toISOString();
  return {
    id: `${ID}${String(n).padStart(3, '0')}`,
    upid: 'UPID:test:00000001:00000002:00000003:6553F100:restore:golden:admin@pbs:',
    source: { store: 'golden', ns: '', snapshot: 'vm/100/2024-05-01T10:00:00Z', archive: 'drive-scsi0.img.fidx' },
    target: { kind: 'null' },
    parallel: 4,
    user: 'admin@pbs',
    state: 'failed',
    progress: {
      bytes_total: 8 << 20, bytes_done: 0, bytes_written: 0, zero_bytes: 0, chunks_total: 2, chunks_done: 0, chunks_distinct: 2,
      chunks_fetched: 0, chunks_duplicate: 0, chunks_refetched: 0, encoded_bytes_read: 0, in_flight: 0, memory_bytes: 0,
      rate_bytes_per_s: 0, elapsed_ns: 40_000_000,
    },
    created_at: ended,
    started_at: ended,
    finished_at: ended,
    error: {
      code: 'chunk-digest-mismatch',
      message: `chunk ${'3f9ac1'.repeat(10)}0000 of /srv/${'deep/'.repeat(12)}store does not match: found ${'ab'.repeat(32)}`,
    },
    ...more,
  };
}

/** Lets the page know jobs the server does not have, by way of their own pages, and ends on the overview. */
export async function withJobs(page: Page, jobs: { id: string }[]): Promise<void> {
  const known = new Map(jobs.map((one) => [one.id, one]));
  await page.route(/\/api\/v1\/restores\/01970000-/, async (route) => {
    const [, id = '', part] = new URL(route.request().url()).pathname.match(/restores\/([^/]+)(?:\/(\w+))?/) ?? [];
    if (part === 'samples') return route.fulfill({ json: { id, samples: [], total: 0 } });
    if (part === 'log') return route.fulfill({ json: { lines: [], total: 0 } });
    return route.fulfill({ json: known.get(id) });
  });
  const [first, ...rest] = jobs;
  await page.goto(`/jobs/${first?.id}`);
  await page.getByTestId('job-card').waitFor();
  for (const { id } of rest) {
    // the page's own router: what it holds stays
    await page.evaluate((to) => {
      history.pushState({}, '', to);
      dispatchEvent(new PopStateEvent('popstate'));
    }, `/jobs/${id}`);
    await page.locator(`[data-testid="job-card"][data-job="${id}"]`).waitFor();
  }
  await page.locator('nav a[href="/jobs"]').first().click();
}

/** Keeps the jobs of other tests away, which would push older ones out of the list. */
export async function withoutFeed(page: Page): Promise<void> {
  await page.route('**/api/v1/events', (route) => route.abort());
}
