import { ApiError } from '@gateway/runtime/errors';

/** Runs a limited number at a time for each caller. Further ones wait in that caller's own queue, and delay no other caller. */
export class Turns {
  readonly #perCaller: number;
  readonly #callers = new Map<string, { running: number; waiting: Set<() => void> }>();

  constructor(perCaller: number) {
    this.#perCaller = perCaller;
  }

  /** Resolves with what ends the turn (to be called once), or with `undefined` when `waitMs` are over or `signal` aborts before it begins. */
  async take(caller: string, waitMs: number, signal: AbortSignal): Promise<(() => void) | undefined> {
    const line = this.#callers.get(caller) ?? { running: 0, waiting: new Set() };
    this.#callers.set(caller, line);
    if (line.running < this.#perCaller) line.running++;
    else if (!(await waitIn(line.waiting, waitMs, signal))) return undefined;
    return () => {
      const [next] = line.waiting;
      if (next) return next();
      line.running--;
      if (line.running === 0) this.#callers.delete(caller);
    };
  }

  /** Works in a turn of a token. Throws 503 when none comes in time. */
  async run<Result>(
    { token, signal }: { token: { keyId: string }; signal: AbortSignal },
    waitMs: number,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const endTurn = await this.take(token.keyId, waitMs, signal);
    if (!endTurn) throw new ApiError('unavailable', { headers: { 'Retry-After': '5' } });
    try {
      return await work();
    } finally {
      endTurn();
    }
  }
}

/** Whether it was called upon. */
function waitIn(line: Set<() => void>, waitMs: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const leave = (called: boolean) => {
      line.delete(call);
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      resolve(called);
    };
    const call = () => leave(true);
    const giveUp = () => leave(false);
    const timer = setTimeout(giveUp, waitMs);
    signal.addEventListener('abort', giveUp);
    line.add(call);
    if (signal.aborted) giveUp();
  });
}
