import { AsyncValue } from '@gateway/runtime/process/async-value';

/** Writes to the key store that the work which makes them does not wait for. */
export interface LaterWrites {
  run<Result>(work: () => Result): Result;
  /** Resolves when those made so far are in the store; rejects when some are not. */
  stored(): Promise<void>;
}

const writesOfWork = new AsyncValue<Promise<void>[]>();

/**
 * For the encryption of a message: the library encrypts one at a time, and the next would wait until the keys of this one are
 * stored, for a round trip.
 */
export function storeLater(): LaterWrites {
  const writes: Promise<void>[] = [];
  return {
    run: (work) => writesOfWork.run(writes, work),
    stored: async () => void (await Promise.all(writes)),
  };
}

/** Resolves when the work that makes this write may go on. */
export async function waitForWrite(write: Promise<void>): Promise<void> {
  const writes = writesOfWork.get();
  if (!writes) return write;
  // Its failure ends the session, and `stored` tells it.
  write.catch(() => {});
  writes.push(write);
}
