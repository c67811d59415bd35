import type { Producer } from '@gateway/queue/producer';
import type { Clock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { listOpenSends, readSend, type SendRecord } from '@gateway/store/sends/read-send';
import { type ActiveSends, toJob } from '../scheduling/active-sends.js';

/** A job that was added and has not led to its send being worked on is added again after this time. */
const AGAIN_AFTER_MS = 60_000;
/** A send this young has its first job still on its way to the worker. */
const YOUNG_MS = 2_000;
const READ_AT_ONCE = 100;

/**
 * The record is the truth, the job a wake-up: whatever is open and has no place among the sends gets a job of this epoch,
 * or is parked where there is no room. Jobs can be lost (a flushed queue, a poison payload); sends cannot.
 */
export class WakeJobs {
  private readonly addedAtMs = new Map<string, number>();

  constructor(
    private readonly deps: { store: Store; producer: Producer; ownership: Ownership; clock: Clock; logger: Logger },
  ) {}

  /** @param options.isStart of this ownership: jobs that a former owner held are of no use now. */
  async addMissing(sends: ActiveSends, { isStart = false } = {}): Promise<void> {
    const { store, ownership, clock, producer } = this.deps;
    const open = (await listOpenSends(store, ownership.address)).filter((messageId) => !sends.has(messageId));
    this.forgetAllBut(new Set(open));
    const due = open.filter((messageId) => !this.wasAddedLately(messageId));
    // What is added now will be taken later: they do not count it yet.
    let { room } = sends;
    for (let from = 0; from < due.length; from += READ_AT_ONCE) {
      const records = await Promise.all(
        due.slice(from, from + READ_AT_ONCE).map((messageId) => this.readOne(messageId)),
      );
      for (const record of records) {
        if (!record) continue;
        const job = toJob(ownership.address, record);
        if (!isStart && clock.nowMs() - record.createdAtMs < YOUNG_MS) this.addedAtMs.delete(record.messageId);
        else if (job.priority === 'otp' || room-- > 0) await producer.addSend(job, { epoch: ownership.epoch });
        else if (!sends.has(record.messageId)) sends.park(job);
      }
    }
  }

  private wasAddedLately(messageId: string): boolean {
    return this.deps.clock.monotonicMs() - (this.addedAtMs.get(messageId) ?? Number.NEGATIVE_INFINITY) < AGAIN_AFTER_MS;
  }

  /** One record that cannot be read (of a later version, say) must not keep the others from being worked on. */
  private async readOne(messageId: string): Promise<SendRecord | undefined> {
    const { store, ownership, clock, logger } = this.deps;
    this.addedAtMs.set(messageId, clock.monotonicMs());
    return readSend(store, ownership.address, messageId).catch((thrown: unknown) => {
      logger.error('record of a send cannot be read', { messageId, error: toError(thrown) });
      return undefined;
    });
  }

  private forgetAllBut(open: ReadonlySet<string>): void {
    for (const messageId of this.addedAtMs.keys()) if (!open.has(messageId)) this.addedAtMs.delete(messageId);
  }
}
