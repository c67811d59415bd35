import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { childEnvironment } from '../config.js';

type Call = { id: number; method: string; argument: unknown };
type Reply = { id: number; result?: unknown; error?: string };

/** What a child offers: one argument, one result, both as JSON. */
export type Methods = Record<string, (argument: never) => Promise<unknown>>;

/** The side of the parent: a module of this package in a process of its own. */
export class Child<Served extends Methods> {
  readonly #process: ChildProcess;
  readonly #open = new Map<number, (reply: Reply) => void>();
  #calls = 0;

  /** @param env settings, beside those of this process. */
  constructor(lifecycle: Lifecycle, module: string, env: Record<string, string> = {}) {
    const path = fileURLToPath(new URL(`./${module}.js`, import.meta.url));
    // The output of the benchmark itself ends with its figures: what others write is beside it.
    this.#process = fork(path, { env: { ...childEnvironment(), ...env }, stdio: ['ignore', 2, 2, 'ipc'] });
    this.#process.on('message', (reply: Reply) => this.#open.get(reply.id)?.(reply));
    this.#process.on('exit', () => this.#endCalls());
    lifecycle.add(module, () => this.stop());
  }

  get pid(): number {
    return this.#process.pid!;
  }

  call<Name extends keyof Served & string>(
    method: Name,
    argument: Parameters<Served[Name]>[0],
  ): Promise<Awaited<ReturnType<Served[Name]>>> {
    const id = this.#calls++;
    return new Promise((resolve, reject) => {
      this.#open.set(id, ({ result, error }) => {
        this.#open.delete(id);
        if (error === undefined) resolve(result as Awaited<ReturnType<Served[Name]>>);
        else reject(new Error(`${method}: ${error}`));
      });
      this.#process.send({ id, method, argument } satisfies Call, (error) => {
        if (error) this.#open.get(id)?.({ id, error: 'the process has ended' });
      });
    });
  }

  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    this.#process.kill('SIGTERM');
    await once(this.#process, 'exit');
  }

  #endCalls(): void {
    for (const [id, answer] of this.#open) answer({ id, error: 'the process has ended' });
  }
}

/** The side of the child. It ends with its parent. */
export function serve(methods: Methods): void {
  for (const end of ['disconnect', 'SIGTERM'] as const) process.on(end, () => process.exit(0));
  process.on('message', async ({ id, method, argument }: Call) => {
    try {
      const result = await methods[method]!(argument as never);
      process.send!({ id, result } satisfies Reply);
    } catch (thrown) {
      process.send!({ id, error: String(thrown) } satisfies Reply);
    }
  });
}
