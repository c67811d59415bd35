import type { SendTag } from '@gateway/contracts/ids';
import type { RecipientStatus } from '@gateway/contracts/statuses';
import type { Clock } from '@gateway/runtime/clock';
import { type RecipientEvent, recordResults } from '@gateway/store/change-send';
import type { Lease } from '@gateway/store/leases';
import type { Store } from '@gateway/store/store';

interface Batch {
  events: RecipientEvent[];
  written: Promise<(RecipientStatus | undefined)[]>;
}

/**
 * Writes acks and receipts to Redis under the lease, in order, those of one send that arrive together in one step.
 * A rejected promise is a `FencedError`, or Redis itself: the news are then lost here and found again by the next
 * owner, who repeats the same ids.
 */
export class ResultWriter {
  private readonly open = new Map<SendTag, Batch>();

  constructor(private readonly deps: { store: Store; lease: Lease; clock: Clock }) {}

  /** Resolves with the recipient's status once this is written; `undefined` when there is no such recipient. */
  async write(tag: SendTag, event: RecipientEvent): Promise<RecipientStatus | undefined> {
    const batch = this.open.get(tag) ?? this.openBatch(tag);
    const position = batch.events.push(event) - 1;
    return (await batch.written)[position];
  }

  private openBatch(tag: SendTag): Batch {
    const events: RecipientEvent[] = [];
    const written = new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.flush(tag, events));
    const batch = { events, written };
    this.open.set(tag, batch);
    return batch;
  }

  private async flush(tag: SendTag, events: RecipientEvent[]): Promise<(RecipientStatus | undefined)[]> {
    this.open.delete(tag);
    const { store, lease, clock } = this.deps;
    return (await recordResults(store, lease, { tag, nowMs: clock.nowMs(), events })).statuses;
  }
}
