import { type DeviceAddress, nameOfDevice } from '@gateway/contracts/ids';
import { shardOf } from '@gateway/contracts/shards';
import type { Clock } from '@gateway/runtime/clock';
import { FencedError, toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { MasterInDoubtError, type Standing } from '@gateway/store/core/confirming/standing';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import {
  claimDevice,
  endSessions,
  groupSessions,
  type Ownership,
  openSession,
  releaseDevice,
  renewSessions,
  type Session,
} from '@gateway/store/fleet/ownership';
import type { OwnershipMetrics } from './ownership-metrics.js';

/** A device in our hands. It is lost once, and never regained: a later ownership has another epoch. */
export interface HeldDevice extends Ownership {
  /** Throws `FencedError` once the device may have passed to another process. Called right before each stanza. */
  assertHeld(): void;
  /** Aborts when the device is lost or given back. */
  lost: AbortSignal;
}

interface Keeping {
  ownership: Ownership;
  ended: AbortController;
}

interface GivenBack {
  ownership: Ownership;
  /** When Redis first took it, by the monotonic clock. */
  takenAtMs?: number;
}

/** Longer than clients follow a master that is being replaced, and forgets what it takes meanwhile. */
const GIVE_BACK_MS = 30_000;

/** A session of this process. */
export interface OpenSession extends Session {
  /** It is over, and so is what was taken under it. */
  readonly hasEnded: boolean;
}

interface LiveSession extends OpenSession {
  /** Monotonic ms. Counted from before it was sent: Redis counts the TTL from later, so we always end first. */
  validUntilMs: number;
  hasEnded: boolean;
  /** By device and epoch. */
  kept: Map<string, Keeping>;
}

export interface SessionKeeperDeps {
  /** Of one connection: what is taken there ends where it is renewed no more. */
  store: Store;
  clock: Clock;
  logger: Logger;
  /** Of this start of this process: no other ever has it. */
  owner: string;
  /** How long devices stay with a process that has fallen silent. */
  ttlMs: number;
  metrics?: OwnershipMetrics;
  /** While the master is in doubt nothing is taken, and renewals do not count. Default: it never is. */
  standing?: Pick<Standing, 'ask' | 'assert'>;
  /** Awaited before a session begins; see `takeInstance`. */
  noteSession?: (session: Session) => Promise<void>;
}

/**
 * The life of one process, as Redis knows it and as the process does itself: a session in each shard in which it has
 * devices. All are renewed on one beat; a device that is owned costs nothing more. The process fences itself when its
 * renewals are late: one that was frozen and wakes up finds its deadlines passed before it can write a stanza. So does one that is cut
 * off together with its master: what that takes does not count.
 */
export class SessionKeeper {
  /** By shard, also those that are being opened. */
  private readonly sessions = new Map<number, Promise<LiveSession>>();
  /** By shard: what is renewed. An opening that hangs, as its node is away, holds up no one else. */
  private readonly live = new Map<number, LiveSession>();
  private opened = 0;
  /**
   * Given back here, and perhaps not in Redis, not yet or, after a failover, not any more: it would have no owner for as long as our
   * session lives.
   */
  private readonly givenBack = new Map<string, GivenBack>();
  private readonly givingBack = new Map<string, Promise<void>>();
  /** Devices whose claim is under way: a second one would take what the first is about to be told of. */
  private readonly claiming = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private renewedAtMs = Number.POSITIVE_INFINITY;

  constructor(private readonly deps: SessionKeeperDeps) {}

  start(): void {
    this.timer ??= setInterval(() => void this.renewAll(), this.deps.ttlMs / 4);
  }

  /**
   * `undefined` when another process owns it, or another role of this one, or claims it right now. A claim whose answer was
   * lost is made good by the next one.
   * @throws MasterInDoubtError
   */
  async acquire(address: DeviceAddress): Promise<HeldDevice | undefined> {
    const device = nameOfDevice(address);
    if (this.claiming.has(device)) return undefined;
    this.claiming.add(device);
    try {
      return await this.claim(address);
    } finally {
      this.claiming.delete(device);
    }
  }

  private async claim(address: DeviceAddress): Promise<HeldDevice | undefined> {
    // The sessions of those who renew them elsewhere end here, and ours go on.
    await this.deps.standing?.assert();
    const session = await this.sessionOf(shardOf(address));
    const ownership = await claimDevice(this.deps.store, address, session.id);
    if (ownership === 'noSession') this.lose(session, 'gone');
    this.deps.metrics?.countClaim(typeof ownership === 'string' ? 'taken' : 'claimed');
    if (ownership === 'noSession' || ownership === 'taken') return undefined;
    const name = nameOf(ownership);
    if (session.kept.has(name) || this.givenBack.has(name)) return undefined;
    const keeping = { ownership, ended: new AbortController() };
    session.kept.set(name, keeping);
    // It may have ended while Redis answered.
    if (session.hasEnded) keeping.ended.abort();
    return { ...ownership, lost: keeping.ended.signal, assertHeld: () => this.assertHeld(session, keeping) };
  }

  /** Gives a device back. Safe to repeat, as later beats do: while Redis is away, and for a while in case that is forgotten. */
  async release(ownership: Ownership): Promise<void> {
    const name = nameOf(ownership);
    const session = await this.sessions.get(shardOf(ownership.address))?.catch(() => undefined);
    session?.kept.get(name)?.ended.abort();
    session?.kept.delete(name);
    const givenBack = { ownership };
    this.givenBack.set(name, givenBack);
    await this.giveBack(name, givenBack);
  }

  /** Ends every session: what was not given back is free as soon as Redis hears of it, else after `ttlMs`. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.endAll([...this.live.values()]);
    const opening = await Promise.all([...this.sessions.values()].map((one) => one.catch(() => undefined)));
    await this.endAll(opening.filter((session) => session !== undefined));
  }

  private async endAll(sessions: readonly LiveSession[]): Promise<void> {
    for (const session of sessions) this.end(session);
    await endSessions(this.deps.store, sessions).catch(() => {});
  }

  private assertHeld(session: LiveSession, { ended }: Keeping): void {
    if (this.deps.clock.monotonicMs() >= session.validUntilMs) this.lose(session, 'late');
    if (!ended.signal.aborted) return;
    throw new FencedError({ step: 'deadline passed' });
  }

  /** For what is taken in a shard that is no device. @throws MasterInDoubtError */
  openIn(shard: number): Promise<OpenSession> {
    return this.sessionOf(shard);
  }

  /** The session of a shard, opened when the first of its devices is claimed. */
  private sessionOf(shard: number): Promise<LiveSession> {
    const known = this.sessions.get(shard);
    if (known) return known;
    const opening = this.open(shard);
    this.sessions.set(shard, opening);
    opening.catch(() => this.sessions.delete(shard));
    return opening;
  }

  private async open(shard: number): Promise<LiveSession> {
    const { store, clock, owner, ttlMs, standing, noteSession = async () => {} } = this.deps;
    const stoodAtMs = await standing?.assert();
    const askedAtMs = stoodAtMs ?? clock.monotonicMs();
    // It would be over before it begins, and keep its devices from others.
    if (clock.monotonicMs() >= askedAtMs + ttlMs) throw new MasterInDoubtError();
    const id = `${owner}.${++this.opened}`;
    await noteSession({ shard, id });
    await openSession(store, { shard, id }, ttlMs);
    const session = { shard, id, validUntilMs: askedAtMs + ttlMs, hasEnded: false, kept: new Map() };
    this.live.set(shard, session);
    return session;
  }

  private async renewAll(): Promise<void> {
    const { store, clock, ttlMs, metrics } = this.deps;
    const askedAtMs = clock.monotonicMs();
    if (askedAtMs - this.renewedAtMs > ttlMs / 2) metrics?.countLate();
    this.renewedAtMs = askedAtMs;
    for (const session of this.live.values()) if (askedAtMs >= session.validUntilMs) this.lose(session, 'late');
    // While one node is away, what is asked of it hangs: nothing waits for that.
    for (const [name, givenBack] of this.givenBack) void this.giveBack(name, givenBack);
    await Promise.all(groupSessions(store, [...this.live.values()]).map((group) => this.renew(group, askedAtMs)));
  }

  /** A renewal that hangs while Redis is away does not keep us from noticing the deadline: checks go by the clock. */
  private async renew(sessions: readonly LiveSession[], askedAtMs: number): Promise<void> {
    const { store, standing, logger, ttlMs } = this.deps;
    const alive = await renewSessions(store, sessions, ttlMs).catch(() => []);
    for (const [index, session] of sessions.entries()) {
      // While its node hung, several beats were on their way: only the first answer is news.
      if (alive[index] !== false || session.hasEnded) continue;
      logger.warn('session ended', { shard: session.shard, devices: session.kept.size });
      this.lose(session, 'gone');
    }
    const renewed = sessions.filter((_, index) => alive[index]);
    // Asked when it has taken them: the next master has them then, and ends none before we do.
    if (renewed.length === 0 || (await standing?.ask()) === false) return;
    // The answer to the beat before may come later.
    for (const session of renewed) session.validUntilMs = Math.max(session.validUntilMs, askedAtMs + ttlMs);
  }

  private giveBack(name: string, givenBack: GivenBack): Promise<void> {
    const known = this.givingBack.get(name);
    if (known) return known;
    const begun = this.tryToGiveBack(name, givenBack).finally(() => this.givingBack.delete(name));
    this.givingBack.set(name, begun);
    return begun;
  }

  /** Never rejects. */
  private async tryToGiveBack(name: string, givenBack: GivenBack): Promise<void> {
    const { store, clock, logger } = this.deps;
    const { ownership, takenAtMs } = givenBack;
    const { address } = ownership;
    try {
      const wasOurs = await releaseDevice(store, ownership);
      givenBack.takenAtMs ??= clock.monotonicMs();
      if (wasOurs && takenAtMs !== undefined) {
        logger.warn('device was still ours after it was given back: it is given back again', { ...address });
        await ringDoorbell(store, { topic: 'owner', ...address });
      }
      if (clock.monotonicMs() - givenBack.takenAtMs >= GIVE_BACK_MS) this.givenBack.delete(name);
    } catch (thrown) {
      logger.warn('device not released, will retry', { ...address, error: toError(thrown) });
    }
  }

  private lose(session: LiveSession, cause: 'late' | 'gone'): void {
    if (!session.hasEnded) this.deps.metrics?.countLost(cause);
    this.end(session);
  }

  /** For this process at once, and whatever Redis thinks. */
  private end(session: LiveSession): void {
    if (session.hasEnded) return;
    session.hasEnded = true;
    this.sessions.delete(session.shard);
    this.live.delete(session.shard);
    for (const { ended } of session.kept.values()) ended.abort();
    session.kept.clear();
  }
}

function nameOf({ address, token }: Ownership): string {
  return `${nameOfDevice(address)} ${token}`;
}
