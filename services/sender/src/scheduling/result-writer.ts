import type { SendTag } from '@gateway/contracts/ids';
import type { RecipientStatus } from '@gateway/contracts/sends/statuses';
import { type Clock, sleep } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { type RecipientEvent, recordResults } from '@gateway/store/sends/change-send';
import type { SenderMetrics } from '../sender-metrics.js';

interface Batch {
  events: RecipientEvent[];
  written: Promise<(RecipientStatus | undefined)[]>;
}

/** The first result of a send is written at once, as a person may wait for an OTP; those that follow soon, together. */
const GATHER_MS = 5;

/**
 * Writes acks and receipts to Redis under the ownership, in order, those of one send that arrive together in one step.
 * A rejected promise is a `FencedError`, or Redis itself: the results are then lost here and recovered by the next
 * owner, who repeats the same ids.
 */
export class ResultWriter {
  private readonly open = new Map<SendTag, Batch>();
  /** Sends that were written to a moment ago: over when the next step may go. */
  private readonly pauses = new Map<SendTag, Promise<void>>();

  constructor(
    private readonly deps: {
      store: Store;
      ownership: Ownership;
      clock: Clock;
      metrics: Pick<SenderMetrics, 'observeDelivery'>;
    },
  ) {}

  /** Resolves with the recipient's status once this is written; `undefined` when there is no such recipient. */
  async write(tag: SendTag, event: RecipientEvent): Promise<RecipientStatus | undefined> {
    const batch = this.open.get(tag) ?? this.openBatch(tag);
    const position = batch.events.push(event) - 1;
    return (await batch.written)[position];
  }

  private openBatch(tag: SendTag): Batch {
    const events: RecipientEvent[] = [];
    const turn = this.pauses.get(tag) ?? new Promise<void>((resolve) => setImmediate(resolve));
    const written = turn.then(() => this.flush(tag, events));
    const batch = { events, written };
    this.open.set(tag, batch);
    return batch;
  }

  private async flush(tag: SendTag, events: RecipientEvent[]): Promise<(RecipientStatus | undefined)[]> {
    this.open.delete(tag);
    this.pause(tag);
    const { store, ownership, clock, metrics } = this.deps;
    return recordResults(store, ownership, { tag, nowMs: clock.nowMs(), events }, metrics.observeDelivery);
  }

  private pause(tag: SendTag): void {
    const over = sleep(GATHER_MS).then(() => {
      if (this.pauses.get(tag) === over) this.pauses.delete(tag);
    });
    this.pauses.set(tag, over);
  }
}
