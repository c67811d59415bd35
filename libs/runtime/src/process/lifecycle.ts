import { GatewayError, toError } from '../errors.js';
import { createLogger, type Logger } from '../logs/logger.js';
import { containerOf } from './contain.js';

export interface LifecycleOptions {
  logger: Logger;
  /** How long one part may take to stop before it is abandoned. */
  partTimeoutMs?: number;
}

interface Part {
  name: string;
  stop: () => Promise<void>;
  /** Default: that of all parts. */
  timeoutMs?: number;
}

/**
 * Starts are written top-down in `main`; each part that started says here how it is stopped. `stop` closes them in
 * reverse order, so a part never outlives what it depends on. A part that fails or hangs does not delay the others.
 */
export class Lifecycle {
  /** Replaced by `main` as soon as the configuration is read. */
  logger: Logger;
  /** Ends the process, for a reason that is no fault of one part of it. Set by the frame of the process. */
  fail: (error: Error) => void = () => {};
  readonly #partTimeoutMs: number;
  readonly #parts: Part[] = [];
  readonly #stopping = new AbortController();
  #stopped: Promise<void> | undefined;

  constructor({ logger, partTimeoutMs = 10_000 }: LifecycleOptions) {
    this.logger = logger;
    this.#partTimeoutMs = partTimeoutMs;
  }

  /** Aborted as soon as the stop begins: readiness turns false, loops end. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Parts that are added during the stop are stopped at once: a signal may come in the middle of a start. */
  add(name: string, stop: () => Promise<void>, options: Pick<Part, 'timeoutMs'> = {}): void {
    const part = { name, stop, ...options };
    if (this.stopping.aborted) void this.#stopPart(part);
    else this.#parts.push(part);
  }

  /** Safe to repeat: every caller awaits the same stop. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  async #stopAll(): Promise<void> {
    this.#stopping.abort();
    for (let part = this.#parts.pop(); part; part = this.#parts.pop()) await this.#stopPart(part);
  }

  async #stopPart({ name, stop, timeoutMs = this.#partTimeoutMs }: Part): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<'timeout'>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, 'timeout');
    });
    try {
      const outcome = await Promise.race([stop(), timeout]);
      if (outcome === 'timeout') this.logger.error('part did not stop in time', { part: name });
      else this.logger.debug('component stopped', { part: name });
    } catch (thrown) {
      this.logger.error('component failed to stop', { part: name, error: toError(thrown) });
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * The frame of every service's `main.ts`. Runs `main`, then waits for the end: SIGTERM and SIGINT stop what was added
 * and exit with 0; a failed start, or an uncaught error, is logged, stops and exits with 1. An uncaught error
 * of work that is contained ends that work only.
 * A process that was forked also stops when its parent is gone, even when that was killed.
 */
export async function runUntilSignal(main: (lifecycle: Lifecycle) => Promise<void>): Promise<void> {
  const lifecycle = new Lifecycle({ logger: createLogger({ service: 'gateway' }) });
  const end = async (exitCode: number) => {
    await lifecycle.stop();
    process.exit(exitCode);
  };
  const fail = (message: string) => (thrown: unknown) => {
    const onUncaught = containerOf();
    if (onUncaught) return onUncaught(toError(thrown));
    lifecycle.logger.error(message, { error: toError(thrown) });
    return end(1);
  };
  // The reader of our output may be gone before us: a log line must not keep us from stopping.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  // Repeated signals are expected: a terminal sends Ctrl-C to the launcher and to us, and the launcher sends its own.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(0));
  if (process.channel) process.on('disconnect', () => end(0));
  process.on('unhandledRejection', fail('unhandled rejection'));
  process.on('uncaughtException', fail('uncaught exception'));
  lifecycle.fail = (error) => {
    lifecycle.logger.error('the process ends', { reason: error.message });
    void end(1);
  };
  try {
    await main(lifecycle);
  } catch (thrown) {
    if (!lifecycle.stopping.aborted) logFailedStart(lifecycle.logger, toError(thrown));
    await end(1);
  }
}

/** Expected errors are explained by their message; only unexpected ones need their stack. */
function logFailedStart(logger: Logger, error: Error): void {
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === 'EADDRINUSE') logger.error('start failed', { reason: `port ${port} of ${address} is taken` });
  else logger.error('start failed', error instanceof GatewayError ? { reason: error.message } : { error });
}
