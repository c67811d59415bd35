import { setTimeout as delay } from 'node:timers/promises';
import { patienceMs } from './config.js';

/** Long enough for a machine that has other work: to wait costs nothing where the test passes. Tests of less say so. */
export const PATIENCE_MS = patienceMs() ?? 300_000;

/**
 * Tries `check` until it neither throws nor answers `false` or `undefined`, and returns what it answered.
 * After `timeoutMs` it throws the last error, or says what it waited for.
 */
export async function eventually<Result>(
  check: () => Promise<Result> | Result,
  {
    timeoutMs = PATIENCE_MS,
    everyMs = 20,
    what = 'the condition',
  }: { timeoutMs?: number; everyMs?: number; what?: string } = {},
): Promise<Exclude<Result, undefined | false>> {
  const deadline = performance.now() + timeoutMs;
  let lastError: unknown;
  while (performance.now() < deadline) {
    try {
      const result = await check();
      if (result !== undefined && result !== false) return result as Exclude<Result, undefined | false>;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    await delay(everyMs);
  }
  throw lastError ?? new Error(`${what} did not hold within ${timeoutMs} ms`);
}
