import { getHeapStatistics } from 'node:v8';
import { inTime } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { keepContained } from '@gateway/runtime/process/contain';
import PQueue from 'p-queue';

/** Of the heap: the rest is for connections, keys, lookups, files under way, and the garbage between. */
const PART_OF_HEAP = 4;
/** Lists that are being read at a time. One of 10,000 recipients takes some megabytes until it is unpacked. */
const MAX_LOADS = 16;
/** Far longer than a read takes. */
const TURN_MS = 1_000;

/** Measured: number, place and turn of a recipient; all else. */
const RECIPIENT_BYTES = 32;
const SEND_BYTES = 4_096;
/** What a list counts for until it is read: one of 10,000 recipients with the longest text. */
export const UNREAD_BYTES = 512 * 1024;

/** What an active send takes, about. */
export function weighSend(recipients: number, contentBytes: number): number {
  return SEND_BYTES + RECIPIENT_BYTES * recipients + contentBytes;
}

/**
 * What the active sends of all devices of a process take of its memory, in bytes, and those that are still to be read: at a
 * take-over many are chosen before the first is there. Once that is more than there is for them, a device takes in a list only
 * when it has no other: each goes on, and none takes what others need. One-time passwords take next to nothing, and wait for
 * nothing.
 */
export class MemoryBudget {
  private bytes = 0;
  private readonly loads = new PQueue({ concurrency: MAX_LOADS });

  constructor(readonly maxBytes = Math.floor(getHeapStatistics().heap_size_limit / PART_OF_HEAP)) {}

  get heldBytes(): number {
    return this.bytes;
  }

  get isSpent(): boolean {
    return this.bytes >= this.maxBytes;
  }

  /**
   * Reads a list, when it is its turn. One that has no answer, as its node of a Cluster is away, goes on without its turn, which is
   * then that of a list on another node.
   */
  load<Result>(work: () => Promise<Result>): Promise<Result> {
    const read = keepContained(work);
    const loaded = defer<Result>();
    void this.loads.add(async () => {
      const reading = read();
      reading.then(loaded.resolve, loaded.reject);
      await inTime(reading, TURN_MS).catch(() => {});
    });
    return loaded.promise;
  }

  take(bytes: number): void {
    this.bytes += bytes;
  }

  giveBack(bytes: number): void {
    this.bytes -= bytes;
  }
}
