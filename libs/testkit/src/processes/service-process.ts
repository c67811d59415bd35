import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PATIENCE_MS } from '../eventually.js';

const REPOSITORY = new URL('../../../../', import.meta.url);
const MAIN = fileURLToPath(new URL('services/gateway/dist/main.js', REPOSITORY));
/** A sender gives its devices up one by one while others take them. */
const EXIT_MS = 90_000;

interface ProcessOptions {
  /** Gets a file with what it logs, and one with what it writes to stderr. */
  logFolder?: string;
  readyMs?: number;
  /** Begins its command line, such as that of a `MemoryBound`. */
  prefix?: readonly string[];
}

/** A role (or several, `connection,sender,api`) in a process of its own, as in production: it can be frozen, killed and read. */
export class ServiceProcess {
  /** Log lines as they came, parsed. */
  readonly logs: Record<string, unknown>[] = [];
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown>;

  private constructor(
    readonly service: string,
    env: Record<string, string>,
    { logFolder, prefix = [] }: Pick<ProcessOptions, 'logFolder' | 'prefix'>,
  ) {
    // The IPC channel ends the service when the test process is gone, even when that was killed.
    const [command, ...args] = [...prefix, process.execPath, '--enable-source-maps', MAIN];
    this.child = spawn(command!, args, {
      env: { ROLES: service, LOG_FORMAT: 'json', ...env },
      stdio: ['ignore', 'pipe', logFolder ? 'pipe' : 'inherit', 'ipc'],
    });
    this.exited = once(this.child, 'exit');
    createInterface({ input: this.child.stdout! }).on('line', (line) => this.logs.push(parseLine(line)));
    if (!logFolder) return;
    const file = join(logFolder, `${service}-${this.pid}`);
    this.child.stdout!.pipe(createWriteStream(`${file}.log`));
    this.child.stderr!.pipe(createWriteStream(`${file}.err`));
  }

  /**
   * Starts a process with one role and waits for the log line that says it is ready. One that does not say it in time is
   * killed: left alone, it would take its port as soon as it gets there.
   */
  static async start(
    service: string,
    env: Record<string, string>,
    { readyMs = PATIENCE_MS, ...options }: ProcessOptions = {},
  ): Promise<ServiceProcess> {
    const started = new ServiceProcess(service, env, options);
    // Roles start one after the other, each with its own line, the API last.
    const roles = service.split(',');
    const lastRole = roles.includes('api') ? 'api' : roles.at(-1);
    const isReady = ({ message, service: role }: Record<string, unknown>) =>
      role === lastRole && (message === 'ready' || message === `${lastRole} listens`);
    await started.waitForLog(isReady, readyMs).catch(async (thrown: unknown) => {
      await started.kill();
      throw thrown;
    });
    return started;
  }

  get pid(): number {
    return this.child.pid!;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** What its `/metrics` says. */
  async metrics(): Promise<string> {
    const { opsPort } = await this.waitForLog((line) => typeof line.opsPort === 'number');
    return (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Sends SIGKILL: the worst moment is now. */
  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.child.kill('SIGKILL');
    await this.exited;
  }

  /** Asks the service to stop and waits for it; kills one that does not. Resolves with whether it stopped by itself. */
  async stop(): Promise<boolean> {
    if (!this.isRunning) return true;
    this.child.kill('SIGCONT');
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), EXIT_MS);
    await this.exited;
    clearTimeout(timer);
    return this.child.signalCode !== 'SIGKILL';
  }

  /** The first log line, of those before and those to come, that `matches`. */
  async waitForLog(
    matches: (line: Record<string, unknown>) => boolean,
    timeoutMs = PATIENCE_MS,
  ): Promise<Record<string, unknown>> {
    const deadline = performance.now() + timeoutMs;
    while (performance.now() < deadline) {
      const found = this.logs.find(matches);
      if (found) return found;
      if (!this.isRunning) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`${this.service} did not say it; last lines: ${JSON.stringify(this.logs.slice(-5))}`);
  }
}

function parseLine(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return { message: line };
  }
}
