import { SessionEndedError, TimeoutError } from './session-errors.js';

/**
 * The result of `work`, or a rejection as soon as `timeoutMs` are over (`TimeoutError`) or `signal` is aborted
 * (`SessionEndedError`). The work itself goes on; its result is ignored.
 */
export async function within<Result>(
  { timeoutMs, what, signal }: { timeoutMs: number; what: string; signal?: AbortSignal },
  work: Promise<Result>,
): Promise<Result> {
  if (signal?.aborted) {
    work.catch(() => {});
    throw new SessionEndedError();
  }
  let stop = () => {};
  const limit = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new TimeoutError(what, timeoutMs)), timeoutMs);
    const onEnd = () => reject(new SessionEndedError());
    signal?.addEventListener('abort', onEnd);
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onEnd);
    };
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    stop();
  }
}
