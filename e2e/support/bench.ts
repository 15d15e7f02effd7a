import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type APIRequestContext, expect } from '@playwright/test';
import type { ServerInfo } from './server';

/** The part of a benchmark run's JSON that tests look at. */
export interface BenchRun {
  id: string;
  state: 'queued' | 'running' | 'ok' | 'partial' | 'failed';
  stored: boolean;
  /** Kept for good: its samples are never rolled up. */
  pinned: boolean;
}

/** Numbers that are the same on every run of the tests. */
function drawn(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const SCENARIOS = [
  ['fast', 'page cache'],
  ['spinner', '8 ms a chunk, 4 in parallel'],
  ['far', '20 ms'],
] as const;
const VALUES = ['1', '4', '16'] as const;
const METRICS = [
  { name: 'rate', unit: 'MiB/s', better: 'higher', judged: true, base: 800, gain: [1, 1.06, 1.3] },
  { name: 'cpu', unit: 'cpu-s', better: 'lower', judged: true, base: 13.1, gain: [1.01, 1.01, 1.01] },
  { name: 'switches', unit: 'count', better: 'lower', judged: false, base: 214_000, gain: [0.9, 0.7, 0.45] },
];

/** A run as `fleethold bench export --format csv` writes it: eight samples a side, interleaved. */
export function csvRun(seed: number, boost = 1): string {
  const next = drawn(seed);
  const lines: string[] = [];
  const rows = SCENARIOS.flatMap(([scenario]) =>
    VALUES.map((value, at) => {
      const control = value === '16';
      const cells = METRICS.map((metric) => {
        for (let round = 0; round < 8; round++) {
          const sides = next() < 0.5 ? ['before', 'after'] : ['after', 'before'];
          for (const side of sides) {
            const gain = side === 'after' ? (metric.gain[at] ?? 1) * (metric.name === 'rate' ? boost : 1) : 1;
            const sample = metric.base * gain * (0.985 + 0.03 * next());
            lines.push([scenario, value, control ? 'yes' : 'no', metric.name, metric.unit, side, sample].join(','));
          }
        }
        return { metric: metric.name, samples: { order_seed: seed, order: '', values: [] } };
      });
      return { scenario, value, control, cells };
    }),
  );
  const side = (label: string, kernel: string) => ({
    label,
    machine_class: 'EPYC 9354P, 32 cores',
    environment: { cpu: 'EPYC 9354P', cores: '32', kernel, memory: '256 GiB', fleethold: label },
  });
  const head = {
    workload: 'restore',
    knob: 'concurrency',
    parameters: { complete: 'yes', quiet: 'yes', seed: String(seed) },
    scenarios: SCENARIOS.map(([name, legend]) => ({ name, legend })),
    metrics: METRICS.map(({ name, unit, better, judged }) => ({ name, unit, better, judged })),
    rows,
    before: side('8c1f04e', 'Linux 6.8.12-4-pve'),
    after: side('d27ab91', 'Linux 6.8.12-5-pve'),
    data_sha256: '9c40d1e7'.repeat(8),
    permalink: null,
    quick: false,
    rules: { alpha: 0.05, confidence: 0.95, min_effect_ratio: 0.03, holm: true, interval: 'hodges-lehmann', across_machines: false },
  };
  const first = [`# fleethold-bench csv 1 samples=${lines.length}`, `# ${JSON.stringify(head)}`];
  return `${[...first, 'scenario,value,control,metric,unit,side,sample', ...lines].join('\n')}\n`;
}

/** Folded stacks of a restore; `sha` is the weight of its digest. */
export const folded = (sha: number): string =>
  [
    'main;serve;restore;fetch;pread 120',
    'main;serve;restore;decode;zstd;ZSTD_decompressBlock 310',
    `main;serve;restore;decode;sha256;sha256_block ${sha}`,
    'main;serve;restore;write;pwrite 150',
    'main;tokio;park 60',
    '',
  ].join('\n');

/** `/api/v1/bench` as a script would use it. */
export class Bench {
  private constructor(
    private readonly request: APIRequestContext,
    private readonly base: string,
    private readonly csrf: string,
  ) {}

  /** Signs `request`'s cookie jar in. */
  static async signIn(request: APIRequestContext, server: ServerInfo): Promise<Bench> {
    const reply = await request.post(`${server.url}/api/v1/session`, {
      data: { user: server.user, password: server.password },
    });
    expect(reply.status(), await reply.text()).toBe(200);
    const { csrf_token } = (await reply.json()) as { csrf_token: string };
    return new Bench(request, `${server.url}/api/v1/bench`, csrf_token);
  }

  private async upload(path: string, text: string): Promise<unknown> {
    const reply = await this.request.post(`${this.base}${path}`, {
      headers: { CSRFPreventionToken: this.csrf, 'Content-Type': 'application/octet-stream' },
      data: Buffer.from(text),
    });
    expect(reply.ok(), await reply.text()).toBe(true);
    return reply.json();
  }

  /** Stores a run; the database may still be starting. */
  async import(name: string, text: string): Promise<string> {
    await expect
      .poll(async () => (await this.request.get(`${this.base}/runs`)).status(), { timeout: 60_000 })
      .toBe(200);
    const { run } = (await this.upload(`/import?name=${name}`, text)) as { run: string };
    return run;
  }

  /** The run `id` as if this machine, quiet, had measured it in that second, its after side `factor` times as large. */
  async measuredHere(server: ServerInfo, id: string, factor: number, second: number): Promise<void> {
    const reply = await this.request.get(`${this.base}/runs/${id}/export?format=json`);
    expect(reply.ok(), await reply.text()).toBe(true);
    const file = await reply.json();
    for (const row of file.run.rows) {
      for (const { samples } of row.cells) {
        samples.values = samples.values.map((v: number, at: number) => (samples.order[at] === 'A' ? v * factor : v));
      }
    }
    const at = `2026-01-01T00:00:0${second}Z`;
    const run = randomUUID();
    file.history = {
      id: run, source: 'run', created_at: at, started_at: at,
      workload: { name: file.run.workload, file_sha256: '', data_sha256: file.run.data_sha256, text: '' },
      cold: false, quick: false, complete: true, samples: 8, operator: '', reason: '',
      load: { others: 0, steal: 0, quiet: true }, tool_version: '',
    };
    file.attachments = [];
    const outbox = join(server.dir, 'state', 'bench', 'outbox');
    mkdirSync(outbox, { recursive: true });
    // Whole or not at all: the server looks at any time.
    writeFileSync(join(outbox, 'part'), JSON.stringify(file));
    renameSync(join(outbox, 'part'), join(outbox, `${run}.json`));
  }

  async attach(run: string, side: 'before' | 'after', text: string): Promise<string> {
    const path = `/runs/${run}/attachments?kind=flame-graph&side=${side}&name=${side}.folded`;
    return ((await this.upload(path, text)) as { id: string }).id;
  }

  async run(id: string): Promise<BenchRun> {
    const reply = await this.request.get(`${this.base}/runs/${id}`);
    expect(reply.status(), await reply.text()).toBe(200);
    return ((await reply.json()) as { run: BenchRun }).run;
  }
}
