import type { HeldRestriction, Restriction } from '@gateway/contracts/restriction';
import type { MessengerSession } from '@gateway/messenger/session-types';
import type { Clock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logger';
import type { Lease } from '@gateway/store/leases';
import { readRefusedContacts, readRestriction, recordRestriction } from '@gateway/store/restrictions';
import type { Store } from '@gateway/store/store';
import type { SenderMetrics } from './sender-metrics.js';

export interface HoldDeps {
  store: Store;
  lease: Lease;
  clock: Clock;
  logger: Logger;
  metrics: SenderMetrics;
  /** From now on messages to new contacts wait. */
  onHeld(): void;
  /** Who waited may not be new any more, or there is no restriction any more: look again. */
  onReconsider(): void;
  onFailed(error: Error): void;
}

/** The network may lift a restriction before its end; news of it can get lost. */
const ASK_AGAIN_MS = 15 * 60_000;
/** After its end by our clock, and after a question without an answer. */
const ASK_SOON_MS = 5_000;
const RECONSIDER_AFTER_MS = 60_000;

/**
 * Whether messages to new contacts wait, because the network restricts the account:
 *
 *   free -> (a message is refused, or there are news) asking -> free, or restricted
 *   restricted -> (it should be over, or there are news) asking -> free, or restricted
 *
 * Only the network's own word leads from restricted to free: a try for each of those who wait would make it worse. Asking
 * is a query and no try. While it asks because of a refusal, new contacts wait already.
 * What it knows is kept in Redis, for the next owner and for people.
 */
export class NewContactHold {
  private restriction: HeldRestriction | undefined;
  /** Those who looked like acquaintances, and were refused as strangers. */
  private readonly refused = new Set<string>();
  private session: MessengerSession | undefined;
  private suspected = false;
  private news = false;
  private stopped = false;
  private asking: Promise<boolean> | undefined;
  private askAtMs = Number.POSITIVE_INFINITY;
  private reconsiderAtMs = Number.POSITIVE_INFINITY;

  constructor(private readonly deps: HoldDeps) {}

  get isOn(): boolean {
    return this.suspected || this.restriction !== undefined;
  }

  /** What the former owner knew. */
  async load(): Promise<void> {
    const { store, lease } = this.deps;
    for (const number of await readRefusedContacts(store, lease.address)) this.refused.add(number);
    const restriction = await readRestriction(store, lease.address);
    if (restriction) this.remember(restriction);
  }

  /** News from the time without a connection have come by now. */
  attach(session: MessengerSession): void {
    this.session = session;
    if (this.isOn) this.news = true;
  }

  detach(): void {
    this.session = undefined;
  }

  /** The metrics count those that this process works on. */
  stop(): void {
    this.stopped = true;
    if (this.restriction) this.deps.metrics.countRestricted(this.restriction.kind, -1);
  }

  /** Those who may be written to: people whom the account has a conversation with. */
  async findKnown(session: MessengerSession, numbers: readonly string[]): Promise<Set<string>> {
    const known = await session.findAcquainted(numbers);
    for (const number of this.refused) known.delete(number);
    return known;
  }

  /**
   * The network refused a message because its recipient is new. Resolves with whether others of its kind would be, too:
   * then it waits with them; else this refusal is final.
   */
  async wasRefused(number: string): Promise<boolean> {
    this.refused.add(number);
    if (!this.isOn) {
      this.suspected = true;
      this.deps.onHeld();
    }
    if (!this.restriction) return this.ask();
    await this.record([number]);
    return true;
  }

  /** The network has changed its mind, one way or the other. */
  hasNews(): void {
    this.news = true;
  }

  /** Somebody wrote to us: they are no stranger any more, and may be one of those who wait. */
  metSomebody(number: string): void {
    this.refused.delete(number);
    if (this.isOn) this.reconsiderAtMs = Math.min(this.reconsiderAtMs, this.deps.clock.nowMs() + RECONSIDER_AFTER_MS);
  }

  /** Called often. */
  tick(): void {
    const nowMs = this.deps.clock.nowMs();
    const isDue = this.news || nowMs >= this.askAtMs;
    if (this.session && !this.asking && isDue) {
      void this.ask().catch((thrown: unknown) => this.deps.onFailed(toError(thrown)));
    }
    if (nowMs >= this.reconsiderAtMs) this.reconsider();
  }

  /** Whether the account is restricted. Those who ask at the same time share one question. */
  private ask(): Promise<boolean> {
    this.asking ??= this.askNetwork().finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  private async askNetwork(): Promise<boolean> {
    this.news = false;
    const said = await this.question();
    if (this.stopped) return this.isOn;
    if (said === 'free') await this.lift();
    else if (said !== 'silence') await this.restrict(said);
    // A refusal is word enough; of its end we know nothing yet.
    else if (this.suspected) await this.restrict({ kind: 'reach_out_time_lock' });
    if (said === 'silence') this.askAtMs = this.deps.clock.nowMs() + ASK_SOON_MS;
    return this.restriction !== undefined;
  }

  private async question(): Promise<Restriction | 'free' | 'silence'> {
    if (!this.session) return 'silence';
    return this.session.readRestriction().then(
      (said) => said ?? 'free',
      (thrown: unknown) => {
        this.deps.logger.warn('the network did not say what it restricts', { error: toError(thrown) });
        return 'silence';
      },
    );
  }

  private async restrict(said: Restriction): Promise<void> {
    const { clock, logger } = this.deps;
    const before = this.restriction;
    this.remember({ ...said, sinceMs: before?.sinceMs ?? clock.nowMs() });
    if (before?.kind !== said.kind || before.untilMs !== said.untilMs) {
      logger.warn('messages to new contacts are held: the network restricts the account', { ...said });
    }
    await this.record([...this.refused]);
  }

  private remember(restriction: HeldRestriction): void {
    const { clock, metrics, onHeld } = this.deps;
    const wasOn = this.isOn;
    if (this.restriction) metrics.countRestricted(this.restriction.kind, -1);
    metrics.countRestricted(restriction.kind, 1);
    this.restriction = restriction;
    this.suspected = false;
    const nowMs = clock.nowMs();
    const { untilMs = Number.POSITIVE_INFINITY } = restriction;
    this.askAtMs = untilMs > nowMs ? Math.min(untilMs, nowMs + ASK_AGAIN_MS) : nowMs + ASK_SOON_MS;
    if (!wasOn) onHeld();
  }

  private async lift(): Promise<void> {
    const { restriction } = this;
    const wasOn = this.isOn;
    this.suspected = false;
    this.restriction = undefined;
    this.askAtMs = Number.POSITIVE_INFINITY;
    this.refused.clear();
    if (restriction) {
      this.deps.metrics.countRestricted(restriction.kind, -1);
      await this.record();
      this.deps.logger.info('the network restricts the account no more');
    }
    if (wasOn) this.reconsider();
  }

  private reconsider(): void {
    this.reconsiderAtMs = Number.POSITIVE_INFINITY;
    this.deps.onReconsider();
  }

  private async record(refused: readonly string[] = []): Promise<void> {
    await recordRestriction(this.deps.store, this.deps.lease, this.restriction, refused);
  }
}
