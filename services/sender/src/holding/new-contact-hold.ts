import type { RestrictionKind } from '@gateway/contracts/devices/restriction';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import type { Clock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import { readRefusedContacts, readRestriction, recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import type { Ownership } from '@gateway/store/fleet/ownership';
import type { SenderMetrics } from '../sender-metrics.js';
import {
  afterAnswer,
  type HoldAnswer,
  type HoldState,
  limitInDoubt,
  limitOf,
  nextQuestionAtMs,
  nextTrialAtMs,
  restrictionOf,
} from './hold-state.js';

export interface HoldDeps {
  store: Store;
  ownership: Ownership;
  clock: Clock;
  logger: Logger;
  metrics: SenderMetrics;
  /** From now on messages to new contacts wait. */
  onHeld(): void;
  /** From now on no recipient waits. */
  onLifted(): void;
  /** This person, who may be a waiting recipient, is no longer a stranger. */
  onMet(phone: string): void;
  /** The number, as given, of a waiting recipient for whom this is true. */
  findHeld(isWanted: (number: string) => boolean): Promise<string | undefined>;
  onFailed(error: Error): void;
}

interface Answered {
  isHeld: boolean;
  /** Which question it was. */
  question: number;
}

/** A restriction that was announced this recently explains a refusal, even if it is over when the network is asked. */
const NEWS_MS = 10_000;

/**
 * Whether messages to new contacts wait, because the network restricts the account:
 *
 *   free -> suspected (a message was refused) -> free, or restricted
 *   free, or restricted (there are news, or it should be over) -> free, or restricted
 *
 * After a suspicion, news, or some time, the network is asked, see `afterAnswer`: an attempt for each waiting recipient
 * would make it worse. Asking is a query, not an attempt; `nextQuestionAtMs` says when.
 *
 * If the network does not answer, there are single attempts, see `nextTrialAtMs`: the
 * first accepted message ends the hold.
 * Its state is stored in Redis, for the next owner and for `/status`.
 */
export class NewContactHold {
  private state: HoldState = { kind: 'free' };
  /** What the keys do not tell, by canonical number: who was refused as a stranger, or wrote, during the hold. */
  private readonly standings = new Map<string, 'refused' | 'met'>();
  private session: MessengerSession | undefined;
  /** The running question: it ends with the answer, before that is stored. */
  private question: Promise<Answered> | undefined;
  /** Questions so far. */
  private asked = 0;
  /** By the monotonic clock. */
  private askAtMs = Number.POSITIVE_INFINITY;
  private newsAtMs = Number.NEGATIVE_INFINITY;
  /** Questions in turn that were not answered. */
  private silences = 0;
  /** The recipient of the running attempt, by canonical number. */
  private trial: string | undefined;
  /** A recipient for the next attempt is being sought. */
  private isSeeking = false;
  /** Those who had an attempt in this round: each has one before the next round. */
  private readonly tried = new Set<string>();
  private recorded: Promise<void> = Promise.resolve();
  private isLoaded = false;
  private stopped = false;

  constructor(private readonly deps: HoldDeps) {}

  get isOn(): boolean {
    return this.state.kind !== 'free';
  }

  /** Whether a stranger's message waits. False for those who have written since the last check. */
  holds(number: string): boolean {
    return this.isOn && this.standingOf(number) !== 'met';
  }

  /** State from the former owner. */
  async load(): Promise<void> {
    const { store, ownership } = this.deps;
    for (const number of await readRefusedContacts(store, ownership.address)) this.note(number, 'refused');
    const restriction = await readRestriction(store, ownership.address);
    if (restriction) this.enter({ kind: 'restricted', restriction });
    this.isLoaded = true;
  }

  /** A connection to Redis is there again: a failover may have forgotten what was recorded last. Before it is loaded, only Redis knows. */
  distrustRedis(): void {
    if (!this.isLoaded) return;
    void this.record(this.refused()).catch((thrown: unknown) => this.deps.onFailed(toError(thrown)));
  }

  /** News from the time without a connection has arrived by now. The network is asked even if there seems to be no restriction. */
  attach(session: MessengerSession): void {
    this.session = session;
    this.askAtMs = 0;
  }

  detach(): void {
    this.session = undefined;
  }

  /** The metrics count those that this process works on. */
  stop(): void {
    this.stopped = true;
    this.count(this.state, -1);
  }

  /** Recipients who may be written to: people with whom the account has a conversation. */
  async findKnown(session: MessengerSession, numbers: readonly string[]): Promise<Set<string>> {
    const acquainted = await session.findAcquainted(numbers);
    const isKnown = (number: string) => {
      const standing = this.standingOf(number);
      return standing ? standing === 'met' : acquainted.has(number);
    };
    return new Set(numbers.filter(isKnown));
  }

  /**
   * The network refused a message because its recipient is new. Resolves with whether others of its kind would be, too:
   * then it waits with them; else the network, asked after this refusal, knows of no restriction (any more).
   */
  async wasRefused(number: string, code: number): Promise<boolean> {
    this.note(number, 'refused');
    if (this.state.kind === 'restricted') {
      // Of a trial, too: it was one because the network did not say whether it restricts anything.
      this.endTrial(number);
      await this.record([canonicalPhoneNumber(number)]);
      return true;
    }
    const { asked } = this;
    const answer = await this.suspect(code);
    // A question from before this refusal does not cover a restriction that has begun since.
    return answer.isHeld || answer.question > asked ? answer.isHeld : (await this.suspect(code)).isHeld;
  }

  private suspect(code: number): Promise<Answered> {
    if (this.state.kind === 'free') this.enter({ kind: 'suspected', limit: limitOf(code) });
    return this.ask();
  }

  /** Whether the network has announced lately that it restricts something, or nothing more. */
  get hasLateNews(): boolean {
    return this.deps.clock.monotonicMs() - this.newsAtMs < NEWS_MS;
  }

  /** The network accepted a message. If it was the single attempt, others will be accepted as well. */
  async wasAccepted(number: string): Promise<void> {
    if (!this.endTrial(number) || this.state.kind !== 'restricted') return;
    this.enter({ kind: 'free' });
    await this.record([]);
    this.deps.onLifted();
  }

  /** The network has announced a change, in either direction. */
  hasNews(): void {
    this.askAtMs = 0;
    this.newsAtMs = this.deps.clock.monotonicMs();
  }

  /** This person wrote to us: they are no longer a stranger, and may be a waiting recipient. */
  metPerson(phone: string): void {
    if (!this.isOn) return;
    this.note(phone, 'met');
    this.deps.onMet(phone);
  }

  /** Called often. */
  tick(): void {
    if (!this.session || this.question) return;
    const work: Promise<unknown> = this.deps.clock.monotonicMs() < this.askAtMs ? this.tryOne() : this.ask();
    void work.catch((thrown: unknown) => this.deps.onFailed(toError(thrown)));
  }

  private async tryOne(): Promise<void> {
    if (this.state.kind !== 'restricted') return;
    const { clock, logger, onMet } = this.deps;
    const { restriction } = this.state;
    const dueAtMs = nextTrialAtMs(restriction);
    if (dueAtMs === undefined || clock.nowMs() < dueAtMs) return;
    if (this.isSeeking) return;
    const { state } = this;
    this.isSeeking = true;
    const number = await this.findUntried().finally(() => {
      this.isSeeking = false;
    });
    if (number === undefined || this.state !== state || this.stopped) return;
    const trying: HoldState = { kind: 'restricted', restriction: { ...restriction, triedAtMs: clock.nowMs() } };
    this.enter(trying);
    // Before the attempt: the next owner waits as long, however soon it takes over.
    await this.record([]);
    if (this.state !== trying || this.stopped) return;
    logger.warn('the network does not report its restrictions: one message to a new contact is tried');
    this.trial = canonicalPhoneNumber(number);
    this.tried.add(this.trial);
    this.note(number, 'met');
    onMet(number);
  }

  private async findUntried(): Promise<string | undefined> {
    const found = await this.deps.findHeld((number) => !this.tried.has(canonicalPhoneNumber(number)));
    if (found === undefined) this.tried.clear();
    return found ?? this.deps.findHeld(() => true);
  }

  /** Whether this was the recipient of the running attempt. */
  private endTrial(number: string): boolean {
    if (this.trial === undefined || this.trial !== canonicalPhoneNumber(number)) return false;
    this.trial = undefined;
    return true;
  }

  /** Whether the account is restricted. Concurrent callers share one question. */
  private ask(): Promise<Answered> {
    this.question ??= this.askNetwork();
    return this.question;
  }

  private async askNetwork(): Promise<Answered> {
    // News from here on needs its own question, as does a refusal after the answer.
    this.askAtMs = Number.POSITIVE_INFINITY;
    const about = limitInDoubt(this.state);
    const question = ++this.asked;
    const said = await this.awaitAnswer(about);
    this.question = undefined;
    if (this.stopped) return { isHeld: this.isOn, question };
    // Refused after the question, and for a limit that it was not about.
    const isBeside = this.state.kind === 'suspected' && about !== this.state.limit;
    return said === 'free' && isBeside ? this.ask() : { isHeld: await this.follow(said), question };
  }

  private async awaitAnswer(about: RestrictionKind | undefined): Promise<HoldAnswer> {
    if (!this.session) return 'silence';
    return this.session.readRestriction(about).then(
      (said) => said ?? 'free',
      (thrown: unknown) => {
        // Without a hold nothing waits for the answer.
        const level = this.isOn ? 'warn' : 'debug';
        this.deps.logger[level]('the network did not say what it restricts', { error: toError(thrown) });
        return 'silence';
      },
    );
  }

  private async follow(said: HoldAnswer): Promise<boolean> {
    const before = this.state;
    this.silences = said === 'silence' ? this.silences + 1 : 0;
    this.enter(afterAnswer(before, said, this.deps.clock.nowMs()));
    // Of this answer: while it is written, the next message may be refused.
    const { isOn } = this;
    const isKept = before.kind === 'restricted' || this.state.kind === 'restricted';
    if (isKept && this.state !== before) await this.record(this.refused());
    if (before.kind !== 'free' && !this.isOn) this.deps.onLifted();
    return isOn;
  }

  private forgetPeople(): void {
    this.standings.clear();
    this.tried.clear();
    this.trial = undefined;
  }

  /** The one place where the state changes. */
  private enter(state: HoldState): void {
    const before = this.state;
    this.state = state;
    const nowMs = this.deps.clock.nowMs();
    const restMs = nextQuestionAtMs(state, this.silences, nowMs) - nowMs;
    this.askAtMs = Math.min(this.askAtMs, this.deps.clock.monotonicMs() + restMs);
    this.count(before, -1);
    this.count(state, 1);
    this.log(before, state);
    if (state.kind === 'free') this.forgetPeople();
    else if (before.kind === 'free') this.deps.onHeld();
  }

  private count(state: HoldState, change: 1 | -1): void {
    const restriction = restrictionOf(state);
    if (restriction) this.deps.metrics.countRestricted(restriction.kind, change);
  }

  private log(before: HoldState, after: HoldState): void {
    const { logger } = this.deps;
    const [was, is] = [restrictionOf(before), restrictionOf(after)];
    if (!is && was) logger.info('the network no longer restricts the account');
    if (is && (is.kind !== was?.kind || is.untilMs !== was.untilMs)) {
      logger.warn('messages to new contacts are held: the network restricts the account', { ...is });
    }
  }

  private standingOf(number: string): 'refused' | 'met' | undefined {
    return this.standings.get(canonicalPhoneNumber(number));
  }

  private note(number: string, standing: 'refused' | 'met'): void {
    this.standings.set(canonicalPhoneNumber(number), standing);
  }

  private refused(): string[] {
    return [...this.standings].filter(([, standing]) => standing === 'refused').map(([number]) => number);
  }

  /** This person is forgotten: their number is not written down again. */
  forget(number: string): void {
    const name = canonicalPhoneNumber(number);
    this.standings.delete(name);
    this.tried.delete(name);
  }

  /** One after the other: what Redis refuses for a moment is written again, and what came after it would be undone. */
  private record(refused: readonly string[]): Promise<void> {
    const { store, ownership } = this.deps;
    const restriction = restrictionOf(this.state);
    const recorded = this.recorded.then(() => recordRestriction(store, ownership, restriction, refused));
    this.recorded = recorded.catch(() => {});
    return recorded;
  }
}
