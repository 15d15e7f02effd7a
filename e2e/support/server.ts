import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What `serve --ready-file` writes. */
interface Ready {
  url: string;
  fingerprint: string;
  pid: number;
  user: string;
  password_file: string;
}

/** Where a test finds the server; handed from the set-up to the workers through the environment. */
export interface ServerInfo {
  url: string;
  user: string;
  password: string;
  /** Scratch folder with everything of this server. */
  dir: string;
  /** First restore root: relative targets land here. */
  restoreRoot: string;
}

export const GENERATED_STORES = 60;

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with \`cargo xtask test e2e\``);
  return value;
}

/** The golden stores, unpacked; read only. */
export const goldenDir = (): string => required('FLEETHOLD_GOLDEN');

/** Stores that `fleethold fixture` makes, beside the golden ones. */
const madeDir = (): string => `${goldenDir()}-made`;

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => (typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}

/** The real server in a state directory of its own, over the golden stores, a small fleet and one image. */
export class Server {
  private process: ChildProcess | undefined;
  private readonly binary = required('FLEETHOLD_BIN');
  private port = 0;
  info!: ServerInfo;

  private constructor(private readonly dir: string) {}

  static async create(): Promise<Server> {
    const dir = mkdtempSync(join(tmpdir(), 'fleethold-e2e-'));
    // PostgreSQL runs as another user when we are root, and has to pass through.
    chmodSync(dir, 0o755);
    const server = new Server(dir);
    server.makeStores();
    server.port = await freePort();
    await server.start();
    return server;
  }

  private environment(): NodeJS.ProcessEnv {
    const state = join(this.dir, 'state');
    return {
      ...process.env,
      FLEETHOLD_STATE_DIR: state,
      FLEETHOLD_CONFIG_DIR: join(state, 'etc'),
      FLEETHOLD_RUN_DIR: join(this.dir, 'run'),
      // Servers of tests measure nothing that another one could disturb.
      FLEETHOLD_BENCH_LOCK: `e2e-${process.pid}-${this.dir.slice(-8)}`,
    };
  }

  /** Runs the command line with this server's places. */
  cli(...args: string[]): string {
    return execFileSync(this.binary, args, { env: this.environment(), encoding: 'utf8' });
  }

  private makeStores(): void {
    const config = join(this.dir, 'state', 'etc');
    mkdirSync(config, { recursive: true });
    // Made once and read only, like the golden ones: a second server, or a second run, finds them there.
    const fleet = join(madeDir(), 'fleet');
    const image = join(madeDir(), 'image');
    this.cli('fixture', 'fleet', '--stores', String(GENERATED_STORES), '--seed', '7', '--dir', fleet);
    this.cli('fixture', 'image', '--size', '128MiB', '--seed', '1', '--dir', image);
    // As it was made: with maintenance modes, and with the stores that are broken on purpose.
    copyFileSync(join(fleet, 'datastore.cfg'), join(config, 'datastore.cfg'));
    this.cli('store', 'add', 'golden', join(goldenDir(), 'store'));
    this.cli('store', 'add', 'golden-real', join(goldenDir(), 'real', 'store'));
    this.cli('store', 'add', 'image', image);
  }

  async start(): Promise<void> {
    const readyFile = join(this.dir, 'ready.json');
    rmSync(readyFile, { force: true });
    const log = openSync(join(this.dir, 'server.log'), 'a');
    const child = spawn(this.binary, ['serve', '--listen', `127.0.0.1:${this.port}`, '--ready-file', readyFile], {
      env: this.environment(),
      stdio: ['ignore', log, log],
    });
    this.process = child;
    // A worker that is stopped early must not leave a server behind.
    const orphan = () => child.kill('SIGKILL');
    process.once('exit', orphan);
    child.once('exit', () => process.off('exit', orphan));
    const deadline = Date.now() + 60_000;
    while (!existsSync(readyFile)) {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}:\n${this.log()}`);
      if (Date.now() > deadline) throw new Error(`the server was not ready within a minute:\n${this.log()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const ready = JSON.parse(readFileSync(readyFile, 'utf8')) as Ready;
    this.info = {
      url: ready.url.replace(/\/$/, ''),
      user: ready.user,
      password: readFileSync(ready.password_file, 'utf8').trim(),
      dir: this.dir,
      restoreRoot: join(this.dir, 'state', 'restore'),
    };
  }

  log(): string {
    return readFileSync(join(this.dir, 'server.log'), 'utf8').slice(-8_000);
  }

  private async ended(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.process;
    if (!child || child.exitCode !== null) return child?.exitCode ?? null;
    return new Promise((resolve) => {
      child.once('exit', (code) => resolve(code));
      child.kill(signal);
    });
  }

  /** Asks the server to stop and removes all it has left. */
  async stop(): Promise<void> {
    const code = await this.ended('SIGTERM');
    if (code !== 0) throw new Error(`the server stopped with ${code}:\n${this.log()}`);
    if (!process.env.FLEETHOLD_KEEP) rmSync(this.dir, { recursive: true, force: true });
  }

  /** `kill -9`: what a power cut leaves. */
  async crash(): Promise<void> {
    await this.ended('SIGKILL');
  }
}
