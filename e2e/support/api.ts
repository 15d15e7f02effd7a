import { type APIRequestContext, expect } from '@playwright/test';
import type { ServerInfo } from './server';

/** The part of a job's JSON that tests look at. */
export interface Job {
  id: string;
  state: 'queued' | 'running' | 'ok' | 'failed' | 'cancelled' | 'interrupted';
  progress: { bytes_done: number; bytes_total: number };
  totals?: { sha256?: string };
  error?: { code: string; message: string };
}

export interface Restore {
  store: string;
  ns?: string;
  snapshot: string;
  archive: string;
  target?: { kind: 'file' | 'null'; path?: string };
  parallel?: number;
  sha256?: boolean;
  simulateLatencyMs?: number;
}

/** `/api/v1` as a script would use it. */
export class Api {
  private constructor(
    private readonly request: APIRequestContext,
    private readonly base: string,
    private readonly csrf: string,
  ) {}

  /** Signs `request`'s cookie jar in. */
  static async signIn(request: APIRequestContext, server: ServerInfo): Promise<Api> {
    const reply = await request.post(`${server.url}/api/v1/session`, {
      data: { user: server.user, password: server.password },
    });
    expect(reply.status(), await reply.text()).toBe(200);
    const { csrf_token } = (await reply.json()) as { csrf_token: string };
    return new Api(request, `${server.url}/api/v1`, csrf_token);
  }

  async startRestore(restore: Restore): Promise<Job> {
    const { store, ns = '', snapshot, archive, target = { kind: 'null' as const } } = restore;
    const reply = await this.request.post(`${this.base}/restores`, {
      headers: { CSRFPreventionToken: this.csrf },
      data: {
        source: { store, ns, snapshot, archive },
        target,
        parallel: restore.parallel,
        sha256: restore.sha256 ?? false,
        simulate_latency_ms: restore.simulateLatencyMs ?? 0,
      },
    });
    expect(reply.status(), await reply.text()).toBe(202);
    return (await reply.json()) as Job;
  }

  async job(id: string): Promise<Job> {
    const reply = await this.request.get(`${this.base}/restores/${id}`);
    expect(reply.status(), await reply.text()).toBe(200);
    return (await reply.json()) as Job;
  }

  /** The job once it has reached a state it will not leave. */
  async ended(id: string): Promise<Job> {
    await expect.poll(async () => (await this.job(id)).state, { timeout: 30_000 }).not.toMatch(/queued|running/);
    return this.job(id);
  }

  /** Whether PostgreSQL has the job. */
  async inHistory(id: string): Promise<boolean> {
    return (await this.request.get(`${this.base}/history/${id}`)).ok();
  }

  /** Name of the only image of a store made by `fixture image`. */
  async onlyImage(store: string): Promise<{ snapshot: string; archive: string }> {
    const reply = await this.request.get(`${this.base}/stores/${store}/groups`);
    expect(reply.status(), await reply.text()).toBe(200);
    const [group] = ((await reply.json()) as { items: { group: string }[] }).items;
    const list = await this.request.get(`${this.base}/stores/${store}/snapshots?group=${group?.group}`);
    const [entry] = ((await list.json()) as { items: { snapshot: string; files: { name: string }[] }[] }).items;
    const archive = entry?.files.find((file) => file.name.endsWith('.fidx'))?.name;
    if (!entry || !archive) throw new Error(`${store} holds no image`);
    return { snapshot: entry.snapshot, archive };
  }
}
