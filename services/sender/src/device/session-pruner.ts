import { LIMITS } from '@gateway/contracts/limits';
import { contactOfSession } from '@gateway/messenger/keys/contact-of-session';
import type { Clock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import type { Device } from '@gateway/store/devices/devices';
import {
  anyKeyCursor,
  deviceKeyStore,
  findUnusedKeys,
  forgetIdentities,
  forgetSession,
  type KeyWalk,
} from '@gateway/store/devices/keys/device-keys';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { forgetNames, NAME_TYPES, type NameType } from '@gateway/store/workspace/people';

/** With 256 buckets a walk over all sessions takes four hours, or longer where there are very many. */
const STEP_EVERY_MS = 60_000;
const SESSIONS_PER_STEP = 500;
/** Fewer, for names are not written again while they are in use: each round opens all of them. */
const NAMES_PER_STEP = 100;
const PRUNED_TYPES = ['session', 'identity-key', 'sender-key', ...NAME_TYPES] as const;
type PrunedType = (typeof PRUNED_TYPES)[number];
const UNUSED_MS = LIMITS.sessionUnusedSeconds * 1000;

/**
 * Forgets sessions with contacts that were not used for 30 days, a few at a time, so that the keys of a device do not
 * grow for ever; and the names, tokens and identities of people without a session, once these are as old: of those whose
 * session went, or moved to their hidden identifier, and of those who were only looked up. Keys of groups, which came with an imported account or with an older version, go as
 * late: nothing here reads them. When a session was used last, its stored value says itself: each message writes
 * it. So one with a message in flight is never among them, and Redis looks again before it forgets one.
 */
export class SessionPruner {
  private readonly walks: Record<PrunedType, KeyWalk>;
  private dueAtMs: number;

  constructor(
    private readonly deps: {
      store: Store;
      ownership: Ownership;
      device: Pick<Device, 'account'>;
      clock: Clock;
      logger: Logger;
    },
  ) {
    this.dueAtMs = deps.clock.monotonicMs() + STEP_EVERY_MS;
    const walk = (type: PrunedType) => [type, { type, cursor: anyKeyCursor(), limit: limitOf(type) }];
    this.walks = Object.fromEntries(PRUNED_TYPES.map(walk));
  }

  /** Called often. Rejects with `FencedError` for a stale owner. */
  async tick(): Promise<void> {
    const { clock } = this.deps;
    if (clock.monotonicMs() < this.dueAtMs) return;
    this.dueAtMs = clock.monotonicMs() + STEP_EVERY_MS;
    const beforeMs = clock.nowMs() - UNUSED_MS;
    const unused = await this.findUnused(beforeMs);
    await this.pruneSessions(unused.session, beforeMs);
    await this.pruneIdentities(unused['identity-key'], beforeMs);
    await this.pruneGroupKeys(unused['sender-key']);
    for (const type of NAME_TYPES) await this.pruneNames(type, unused[type], beforeMs);
  }

  private async findUnused(beforeMs: number): Promise<Record<PrunedType, string[]>> {
    const { store, ownership } = this.deps;
    const walks = Object.values(this.walks);
    const steps = await findUnusedKeys(store, ownership.address, { walks, beforeMs });
    for (const [index, walk] of walks.entries()) walk.cursor = steps[index]!.next;
    return Object.fromEntries(PRUNED_TYPES.map((type, index) => [type, steps[index]!.ids])) as Record<
      PrunedType,
      string[]
    >;
  }

  private async pruneSessions(ids: readonly string[], beforeMs: number): Promise<void> {
    if (ids.length === 0) return;
    const { store, ownership, logger } = this.deps;
    const forgotten = await Promise.all(
      ids.map((id) => forgetSession(store, ownership, { id, contact: contactOfSession(id), beforeMs })),
    );
    const count = forgotten.filter(Boolean).length;
    if (count > 0) logger.info('unused sessions deleted', { sessions: count });
  }

  private async pruneIdentities(ids: readonly string[], beforeMs: number): Promise<void> {
    const { store, ownership, logger } = this.deps;
    const identities = await forgetIdentities(store, ownership, { ids, beforeMs });
    if (identities > 0) logger.info('identities without a session deleted', { identities });
  }

  private async pruneGroupKeys(ids: readonly string[]): Promise<void> {
    const { store, ownership, logger } = this.deps;
    if (ids.length === 0) return;
    const keys = ids.map((id) => ({ type: 'sender-key', id, value: null }));
    await deviceKeyStore(store, ownership).commit({ keys });
    logger.info('unused group keys deleted', { keys: ids.length });
  }

  private async pruneNames(type: NameType, ids: readonly string[], beforeMs: number): Promise<void> {
    if (ids.length === 0) return;
    const { store, ownership, device, logger } = this.deps;
    const names = await forgetNames(store, ownership, { type, ids, own: device.account, beforeMs });
    if (names > 0) logger.info('number mappings without a session deleted', { type, names });
  }
}

function limitOf(type: PrunedType): number {
  return (NAME_TYPES as readonly string[]).includes(type) ? NAMES_PER_STEP : SESSIONS_PER_STEP;
}
