import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A Redis that can be killed and comes back with what it had written, on the same port. */
export class RedisProcess {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly program: string,
    private readonly folder: string,
    readonly port: number,
  ) {}

  static async start(): Promise<RedisProcess> {
    const redis = new RedisProcess(findProgram(), mkdtempSync(join(tmpdir(), 'gateway-chaos-')), await findFreePort());
    redis.spawn();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Dies in the middle of whatever it does, and starts again. */
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
    const durable = ['--appendonly', 'yes', '--save', '', '--maxmemory-policy', 'noeviction', '--loglevel', 'warning'];
    this.child = spawn(this.program, [...settings, ...durable], { stdio: 'ignore' });
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
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

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
