import { LIMITS } from '@gateway/contracts/limits';
import type { Producer } from '@gateway/queue/producer';
import type { Clock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logger';
import type { Lease } from '@gateway/store/leases';
import { listOpenSends, readSend, type SendRecord } from '@gateway/store/read-send';
import type { Store } from '@gateway/store/store';

/** A job that was added and has not led to its send being worked on is added again after this time. */
const AGAIN_AFTER_MS = LIMITS.acceptingGraceSeconds * 1000;

/**
 * The record is the truth, the job a wake-up: whatever is open and not being worked on gets a job of this epoch. Jobs
 * can be lost (a flushed queue, a poison payload); sends cannot.
 */
export class WakeJobs {
  private readonly addedAtMs = new Map<string, number>();

  constructor(
    private readonly deps: { store: Store; producer: Producer; lease: Lease; clock: Clock; logger: Logger },
  ) {}

  async addMissing(isAtWork: (messageId: string) => boolean): Promise<void> {
    const { store, producer, lease, clock } = this.deps;
    const open = (await listOpenSends(store, lease.address)).filter((messageId) => !isAtWork(messageId));
    this.forgetAllBut(new Set(open));
    for (const messageId of open) {
      if (clock.monotonicMs() - (this.addedAtMs.get(messageId) ?? Number.NEGATIVE_INFINITY) < AGAIN_AFTER_MS) continue;
      this.addedAtMs.set(messageId, clock.monotonicMs());
      const send = await this.readOne(messageId);
      if (!send) continue;
      const priority = send.kind === 'otp' ? 'otp' : 'bulk';
      await producer.addSend(
        { v: 1, ...lease.address, messageId, priority, requestId: send.requestId },
        { epoch: lease.epoch },
      );
    }
  }

  /** One record that cannot be read (of a later version, say) must not keep the others from being worked on. */
  private async readOne(messageId: string): Promise<SendRecord | undefined> {
    const { store, lease, logger } = this.deps;
    return readSend(store, lease.address, messageId).catch((thrown: unknown) => {
      logger.error('record of a send cannot be read', { messageId, error: toError(thrown) });
      return undefined;
    });
  }

  private forgetAllBut(open: ReadonlySet<string>): void {
    for (const messageId of this.addedAtMs.keys()) if (!open.has(messageId)) this.addedAtMs.delete(messageId);
  }
}
