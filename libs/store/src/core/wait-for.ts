import type { DoorbellTopic } from '@gateway/contracts/doorbell';
import type { DeviceAddress } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/runtime/clock';
import { ApiError, toError } from '@gateway/runtime/errors';
import type { DoorbellListener } from './doorbells.js';

export interface WaitDeps {
  clock: Clock;
  doorbells: Pick<DoorbellListener, 'on'>;
}

export interface Wait<Found> {
  /** Doorbells of the device that may announce the result. */
  topics: readonly DoorbellTopic[];
  /** Called until it returns a result. If it throws, the wait ends. */
  look(): Promise<Found | undefined>;
  timeoutMs: number;
  /** How often to look without a doorbell, which may be lost. Default: every second. */
  everyMs?: number;
  /** Ends the wait: the caller is gone, or the process stops. */
  signal: AbortSignal;
}

const POLL_MS = 1_000;

/**
 * Waits until another process has stored a result: looks at once, at each doorbell, and now and then.
 * Resolves with `undefined` when the time is over; throws 503 when the wait was ended from outside.
 */
export async function waitFor<Found>(
  { doorbells, clock }: WaitDeps,
  address: DeviceAddress,
  { topics, look, timeoutMs, everyMs = POLL_MS, signal }: Wait<Found>,
): Promise<Found | undefined> {
  const deadlineMs = clock.monotonicMs() + timeoutMs;
  const bell = new Bell();
  const unsubscribe = doorbells.on(({ topic, workspace, device }) => {
    if (topics.includes(topic) && workspace === address.workspace && device === address.device) bell.ring();
  });
  const stopListening = onAbort(signal, () => bell.ring());
  try {
    for (;;) {
      if (signal.aborted) throw new ApiError('unavailable', { cause: toError(signal.reason) });
      const found = await look();
      if (found !== undefined) return found;
      const leftMs = deadlineMs - clock.monotonicMs();
      if (leftMs <= 0) return undefined;
      await bell.wait(Math.min(everyMs, leftMs));
    }
  } finally {
    stopListening();
    unsubscribe();
  }
}

/** Remembers a ring that came while there was no waiter. */
class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  async wait(ms: number): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#rung = false;
    this.#wake = undefined;
  }
}

function onAbort(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener('abort', listener);
  return () => signal.removeEventListener('abort', listener);
}
