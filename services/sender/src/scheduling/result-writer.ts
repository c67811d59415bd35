import type { SendTag } from '@gateway/contracts/ids';
import type { RecipientStatus } from '@gateway/contracts/sends/statuses';
import { type Clock, sleep } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { type RecipientEvent, recordResultsOfSends, type StatusesAfter } from '@gateway/store/sends/change-send';
import type { SenderMetrics } from '../sender-metrics.js';

interface Batch {
  sends: Map<SendTag, RecipientEvent[]>;
  written: Promise<Map<SendTag, StatusesAfter | Error>>;
  /** It does not wait for others. */
  hurry(): void;
}

/** The first result after a pause is written at once; those that follow soon, together. */
const GATHER_MS = 5;

/**
 * Writes acks and receipts to Redis under the ownership, in order, those of the device that arrive together in one step.
 * A rejected promise is a `FencedError`, or Redis itself: the results are then lost here and recovered by the next
 * owner, who repeats the same ids.
 */
export class ResultWriter {
  private open: Batch | undefined;
  /** After a step: over when the next one may go. */
  private pause: Promise<void> | undefined;

  constructor(
    private readonly deps: {
      store: Store;
      ownership: Ownership;
      clock: Clock;
      metrics: Pick<SenderMetrics, 'observeDelivery'>;
      /** For tests. */
      gatherMs?: number;
    },
  ) {}

  /**
   * Resolves with the recipient's status once this is written; `undefined` when there is no such recipient.
   * @param options.isUrgent a person waits for it: it is written at once, with all that came before it.
   */
  async write(tag: SendTag, event: RecipientEvent, { isUrgent = false } = {}): Promise<RecipientStatus | undefined> {
    this.open ??= this.openBatch();
    const { sends, written, hurry } = this.open;
    const events = sends.get(tag);
    if (events) events.push(event);
    else sends.set(tag, [event]);
    const position = events ? events.length - 1 : 0;
    if (isUrgent) hurry();
    const statuses = (await written).get(tag)!;
    if (statuses instanceof Error) throw statuses;
    return statuses[position];
  }

  private openBatch(): Batch {
    const sends: Batch['sends'] = new Map();
    let hurry = () => {};
    const hurried = new Promise<void>((resolve) => {
      hurry = resolve;
    });
    const turn = this.pause ? Promise.race([this.pause, hurried]) : Promise.resolve();
    const written = turn.then(() => new Promise((resolve) => setImmediate(resolve))).then(() => this.flush(sends));
    return { sends, written, hurry };
  }

  private async flush(sends: Batch['sends']): Promise<Map<SendTag, StatusesAfter | Error>> {
    this.open = undefined;
    const { store, ownership, clock, metrics, gatherMs = GATHER_MS } = this.deps;
    const over = sleep(gatherMs).then(() => {
      if (this.pause === over) this.pause = undefined;
    });
    this.pause = over;
    const news = { nowMs: clock.nowMs(), sends: Array.from(sends, ([tag, events]) => ({ tag, events })) };
    const statuses = await recordResultsOfSends(store, ownership, news, metrics.observeDelivery);
    return new Map(news.sends.map(({ tag }, i) => [tag, statuses[i]!]));
  }
}
