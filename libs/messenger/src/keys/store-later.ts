import { AsyncValue } from '@gateway/runtime/process/async-value';
import type { KeyChanges } from './key-store-port.js';
import type { KeyWriter } from './key-writer.js';

/** Writes to the key store that the work which makes them does not wait for. */
export interface LaterWrites {
  run<Result>(work: () => Result): Result;
  /** Resolves when those made so far are in the store; rejects when some are not. */
  stored(): Promise<void>;
  /** The same, and they are stored at once. */
  storeNow(): Promise<void>;
}

interface LaterWrite {
  stored: Promise<void>;
  storeNow(): void;
}

const writesOfWork = new AsyncValue<LaterWrite[]>();

/**
 * For the encryption of a message: the library encrypts one at a time, and the next would wait until the keys of this one are
 * stored, for a round trip. And for lookups, which make sessions a few at a time.
 */
export function storeLater(): LaterWrites {
  const writes: LaterWrite[] = [];
  const stored = async () => {
    for (const write of writes) await write.stored;
  };
  return {
    run: (work) => writesOfWork.run(writes, work),
    stored,
    storeNow() {
      for (const write of writes) write.storeNow();
      return stored();
    },
  };
}

/** Resolves when the work that makes this write may go on. */
export async function waitForWrite(writer: Pick<KeyWriter, 'write' | 'hurry'>, changes: KeyChanges): Promise<void> {
  const writes = writesOfWork.get();
  if (!writes) return writer.write(changes);
  const stored = writer.write(changes, { isAwaited: false });
  // Its failure ends the session, and `stored` tells it.
  stored.catch(() => {});
  writes.push({ stored, storeNow: () => writer.hurry() });
}
