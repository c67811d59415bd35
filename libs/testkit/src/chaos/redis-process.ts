import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findSteadyPort } from './steady-port.js';

const RESPAWN_MS = 250;

/** A Redis that can be killed and comes back with what it had written, on the same port. */
export class RedisProcess {
  private child: ChildProcess | undefined;
  private respawn: NodeJS.Timeout | undefined;

  private constructor(
    private readonly program: string,
    private readonly folder: string,
    readonly port: number,
    private readonly logFolder: string | undefined,
  ) {}

  /** @param options.logFolder gets its log, one file for all its lives. */
  static async start({ logFolder }: { logFolder?: string } = {}): Promise<RedisProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-chaos-'));
    const redis = new RedisProcess(findProgram(), folder, await findSteadyPort(), logFolder);
    redis.spawn();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Is killed in the middle of its work, and starts again. */
  async killAndRestart(): Promise<void> {
    await this.end('SIGKILL');
    this.spawn();
  }

  async stop(): Promise<void> {
    await this.end('SIGTERM');
    rmSync(this.folder, { recursive: true, force: true });
  }

  private spawn(): void {
    const settings = ['--bind', '127.0.0.1', '--port', String(this.port), '--dir', this.folder];
    const durable = ['--appendonly', 'yes', '--save', '', '--maxmemory-policy', 'noeviction'];
    const log = ['--loglevel', 'notice', '--logfile', this.logFolder ? join(this.logFolder, 'redis.log') : ''];
    const child = spawn(this.program, [...settings, ...durable, ...log], { stdio: 'ignore' });
    this.child = child;
    // It ends by itself when another process has just taken its port.
    child.once('exit', () => {
      if (this.child === child) this.respawn = setTimeout(() => this.spawn(), RESPAWN_MS);
    });
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    clearTimeout(this.respawn);
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
}

/** The launcher has seen to it that there is one. */
function findProgram(): string {
  const found = ['redis-server', 'valkey-server'].find((program) => spawnSync(program, ['--version']).status === 0);
  if (!found) throw new Error('neither redis-server nor valkey-server is on the PATH');
  return found;
}
