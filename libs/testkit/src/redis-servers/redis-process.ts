import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CuttableNetwork, LOCALHOST } from './cuttable-network.js';
import { readAof } from './read-aof.js';
import { findSteadyPort } from './steady-port.js';

export interface RedisProcessOptions {
  logFolder?: string;
  settings?: readonly string[];
  /** Of clients, and of its replicas. */
  password?: string;
  /** The port of the master that it follows at first. Whom Sentinels tell it to follow, they have it write down. */
  replicaOf?: number;
  /** It is a Sentinel, which begins with these settings. */
  sentinel?: string;
  /** It lives there. */
  network?: CuttableNetwork;
}

/** Its append-only file is never begun anew. */
export const KEEPS_ALL_WRITES = ['--auto-aof-rewrite-percentage', '0'] as const;
/** Of servers that belong together. */
export const PASSWORD = 'known-to-tests';
const RESPAWN_MS = 250;

/** None outlives us. */
const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** A Redis that can be killed and comes back with what it had written, on the same port. */
export class RedisProcess {
  private child: ChildProcess | undefined;
  private respawn: NodeJS.Timeout | undefined;
  private isOver = false;

  private constructor(
    private readonly program: string,
    private readonly folder: string,
    readonly port: number,
    /** Where it listens, and what it calls from. Others find it at this machine's. */
    readonly address: string,
    private readonly options: RedisProcessOptions,
  ) {}

  /**
   * @param options.logFolder gets its log, one file for all its lives.
   * @param options.settings more of them, as on the command line.
   */
  static async start(options: RedisProcessOptions = {}): Promise<RedisProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-redis-'));
    const port = await findSteadyPort();
    const address = options.network?.newAddress() ?? LOCALHOST;
    await options.network?.open(address, port);
    const redis = new RedisProcess(findRedisProgram(), folder, port, address, options);
    const { sentinel, replicaOf } = options;
    writeFileSync(redis.file, sentinel ?? (replicaOf === undefined ? '' : `replicaof ${LOCALHOST} ${replicaOf}\n`));
    redis.spawn();
    return redis;
  }

  /** What it is told while it runs and must know in its next life is in there; the command line wins over it. */
  private get file(): string {
    return join(this.folder, 'redis.conf');
  }

  get url(): string {
    return this.urlAt(LOCALHOST);
  }

  /** Where it listens itself: no one is cut off from it there. For those who watch. */
  get ownUrl(): string {
    return this.urlAt(this.address);
  }

  private urlAt(address: string): string {
    const { password } = this.options;
    return `redis://${password ? `:${password}@` : ''}${address}:${this.port}`;
  }

  /** All that was ever written, in order, if it was started with `KEEPS_ALL_WRITES`. */
  written(): Iterable<Buffer[]> {
    return readAof(this.folder);
  }

  /** Is killed in the middle of its work, and starts again. */
  async killAndRestart(): Promise<void> {
    await this.end();
    this.spawn();
  }

  /** Is killed, and stays away until `restart`. */
  async kill(): Promise<void> {
    await this.end();
  }

  restart(): void {
    if (!this.child) this.spawn();
  }

  /** Answers nothing, and keeps its connections, as when its machine hangs. */
  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  /** By force: asked to end, a replica that has just joined goes on for as long as it writes its first file, and does not end after it. */
  async stop(): Promise<void> {
    this.isOver = true;
    await this.end();
    // A child of its own that writes a file anew lives on for a moment.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private spawn(): void {
    if (this.isOver) return;
    const { logFolder, settings = [], sentinel, network, password } = this.options;
    const place = ['--bind', this.address, ...(network ? ['--bind-source-addr', this.address] : [])];
    const own = [...place, '--port', String(this.port), '--dir', this.folder];
    const durable = ['--appendonly', 'yes', '--save', '', '--maxmemory', '0', '--maxmemory-policy', 'noeviction'];
    const access = password ? ['--requirepass', password, '--masterauth', password] : [];
    const log = ['--loglevel', 'notice', '--logfile', logFolder ? join(logFolder, `redis-${this.port}.log`) : ''];
    const args = sentinel ? ['--sentinel', ...own, ...log] : [...own, ...durable, ...access, ...log, ...settings];
    const child = spawn(this.program, [this.file, ...args], { stdio: 'ignore' });
    this.child = child;
    living.add(child);
    child.once('exit', () => living.delete(child));
    // It ends by itself when another process has just taken its port.
    child.once('exit', () => {
      if (this.child === child) this.respawn = setTimeout(() => this.spawn(), RESPAWN_MS);
    });
  }

  private async end(): Promise<void> {
    const { child } = this;
    clearTimeout(this.respawn);
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}

/** The launcher has seen to it that there is one. */
function findRedisProgram(): string {
  const found = ['redis-server', 'valkey-server'].find((program) => spawnSync(program, ['--version']).status === 0);
  if (!found) throw new Error('neither redis-server nor valkey-server is on the PATH');
  return found;
}
