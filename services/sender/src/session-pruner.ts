import { LIMITS } from '@gateway/contracts/limits';
import { contactOfSession } from '@gateway/messenger/contact-of-session';
import type { Clock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logger';
import { anySessionCursor, findUnusedSessions, forgetSession } from '@gateway/store/device-keys';
import type { Lease } from '@gateway/store/leases';
import type { Store } from '@gateway/store/store';

/** With 256 buckets a walk over all sessions takes four hours, or longer where there are very many. */
const STEP_EVERY_MS = 60_000;
const SESSIONS_PER_STEP = 500;
const UNUSED_MS = LIMITS.sessionUnusedSeconds * 1000;

/**
 * Forgets sessions with contacts that were not used for 30 days, a few at a time, so that the keys of a device do not
 * grow for ever. When a session was used last, its stored value says itself: each message writes it. So one with a
 * message in flight is never among them, and Redis looks again before it forgets one.
 */
export class SessionPruner {
  private cursor = anySessionCursor();
  private dueAtMs: number;

  constructor(private readonly deps: { store: Store; lease: Lease; clock: Clock; logger: Logger }) {
    this.dueAtMs = deps.clock.monotonicMs() + STEP_EVERY_MS;
  }

  /** Called often. Rejects with `FencedError` for a stale owner. */
  async tick(): Promise<void> {
    const { clock } = this.deps;
    if (clock.monotonicMs() < this.dueAtMs) return;
    this.dueAtMs = clock.monotonicMs() + STEP_EVERY_MS;
    await this.step();
  }

  private async step(): Promise<void> {
    const { store, lease, clock, logger } = this.deps;
    const beforeMs = clock.nowMs() - UNUSED_MS;
    const { cursor } = this;
    const { ids, next } = await findUnusedSessions(store, lease.address, {
      cursor,
      limit: SESSIONS_PER_STEP,
      beforeMs,
    });
    this.cursor = next;
    const forgotten = await Promise.all(
      ids.map((id) => forgetSession(store, lease, { id, contact: contactOfSession(id), beforeMs })),
    );
    const count = forgotten.filter(Boolean).length;
    if (count > 0) logger.info('unused sessions forgotten', { sessions: count });
  }
}
