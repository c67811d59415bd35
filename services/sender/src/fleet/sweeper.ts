import { toError } from '@gateway/runtime/errors';
import { type SweepDeps, sweepDevices } from './sweep-devices.js';

const SWEEP_EVERY_MS = 15_000;

/**
 * Looks after devices without an owner, such as those that were logged out with sends still queued: it takes the ownership
 * without opening a socket, ends what is over, and gives it back at once. Returns what stops it.
 */
export function startSweeper(deps: SweepDeps): () => Promise<void> {
  let running: Promise<void> | undefined;
  let stopped = false;
  const timer = setInterval(() => {
    // One at a time, however slow Redis is.
    running ??= sweepDevices(deps, () => stopped)
      .catch((thrown: unknown) => deps.logger.warn('sweep failed', { error: toError(thrown) }))
      .finally(() => {
        running = undefined;
      });
  }, SWEEP_EVERY_MS);
  return async () => {
    stopped = true;
    clearInterval(timer);
    await running;
  };
}
