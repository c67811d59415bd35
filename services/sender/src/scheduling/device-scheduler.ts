import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Pace } from '@gateway/contracts/devices/pace';
import { parseMessageId } from '@gateway/contracts/ids';
import { spellingsOf } from '@gateway/contracts/people/phone-number';
import type { KnownPerson } from '@gateway/messenger/session/session-events';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import { FencedError, toError } from '@gateway/runtime/errors';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { expireSend } from '@gateway/store/sends/change-send';
import { pageOpenSends } from '@gateway/store/sends/open-sends';
import type { Person } from '@gateway/store/workspace/hidden-opt-outs';
import type { DeviceDeps } from '../deps.js';
import { CodesFirst } from '../dispatching/codes-first.js';
import { type DispatchDeps, type Dispatched, dispatchMessage } from '../dispatching/dispatch-message.js';
import { InFlight, MAX_UNANSWERED } from '../dispatching/in-flight.js';
import { LibraryTurns } from '../dispatching/library-turns.js';
import { PacePlaces } from '../dispatching/pace-places.js';
import { RedisDistance } from '../dispatching/redis-distance.js';
import { Verdicts } from '../dispatching/verdicts.js';
import { FirstContactHold } from '../holding/first-contact-hold.js';
import { findHeldNumber, findHolding } from '../holding/held-recipients.js';
import { NewContactHold } from '../holding/new-contact-hold.js';
import { loadSend } from '../preparing/load-send.js';
import type { MediaUploads } from '../preparing/media-uploads.js';
import { SendPreparation } from '../preparing/send-preparation.js';
import { TakeIns } from '../preparing/take-ins.js';
import { FailureLines } from '../reporting/failure-lines.js';
import { SendSpans } from '../reporting/send-spans.js';
import { ActiveSends } from './active-sends.js';
import { dropEnded } from './drop-ended.js';
import type { MemoryBudget } from './memory-budget.js';
import type { SendProgress, WorkItem } from './send-progress.js';
import { MAX_FOUND } from './waiting-lists.js';
import { WakeUp } from './wake-up.js';
import { WritersWithoutNumber } from './writers-without-number.js';

export interface SchedulerDeps extends DeviceDeps {
  pace: Pace;
  uploads: MediaUploads;
  memory: MemoryBudget;
  /** For tests. */
  gates?: DispatchDeps['gates'];
  /** Whether the owners before this one ended one after the other, and this one has not lasted yet. */
  isCareful(): boolean;
  /** An ack did not come in time: this session is not to be trusted any more. */
  onStalled(session: MessengerSession): void;
}

const LAST_ACKS_MS = 500;
/** What happens by time alone, as the end of a pause, is seen so often; and where nothing waits for it. */
const LOOK_MS = 1_000;
const QUIET_LOOK_MS = 60_000;

/**
 * Decides, message by message, what the device sends next: OTPs first, then the open lists in turn. What each
 * message goes through is in `dispatchMessage`; how many are in flight at a time, in `InFlight`.
 *
 * Without a session (before the first, between two) everything waits; lists also until the backlog of incoming messages is
 * handled, as a STOP may be in it. `stop` is final.
 */
export class DeviceScheduler {
  readonly sends: ActiveSends;
  /** Of messages to people whom the account has no conversation with. */
  readonly hold: NewContactHold;
  /** Of messages to people for whom the account has no token yet. */
  private readonly firstContacts: FirstContactHold;
  private readonly preparation: SendPreparation;
  private readonly wakeUp = new WakeUp();
  private readonly writers = new WritersWithoutNumber();
  private readonly failures: FailureLines;
  private readonly spans: SendSpans;
  private readonly verdicts: Verdicts;
  private session: MessengerSession | undefined;
  /** What its messages go through. */
  private dispatching: DispatchDeps | undefined;
  /** The session, once lists may go out on it. */
  private caughtUp: MessengerSession | undefined;
  private readonly distance = new RedisDistance();
  private readonly turns = new LibraryTurns(this.distance);
  private readonly codes: CodesFirst;
  /** These are made with the first message: most devices are idle, and there are thousands. */
  private pacePlaces: PacePlaces | undefined;
  private inFlight: InFlight | undefined;
  private news = 0;
  /** The next message must be the only one in flight. */
  private isNextAlone = false;
  /** When the network last answered a message, by the monotonic clock. */
  private answeredAtMs = 0;
  private stopped = false;
  private hasFailed = false;
  private pace: Pace;

  constructor(private readonly deps: SchedulerDeps) {
    this.pace = deps.pace;
    this.failures = new FailureLines(deps.logger);
    this.spans = new SendSpans(deps.clock);
    const urgently = (work: () => Promise<void>) => [this.turns, this.session].map((each) => each?.urgently(work));
    this.codes = new CodesFirst(deps.clock, urgently, () => this.wakeUp.ring());
    this.sends = this.makeActiveSends();
    // The copy first: closures before it give V8 a hidden class for each device, of half a kB.
    this.hold = new NewContactHold({ ...deps, ...this.holdEvents() });
    this.firstContacts = new FirstContactHold({ ...deps, ...this.holdEvents() });
    this.preparation = this.makePreparation();
    const { hold, firstContacts, preparation, failures } = this;
    this.verdicts = new Verdicts({ ...deps, hold, firstContacts, preparation, failures });
    void this.pump().catch((error: unknown) => deps.onFailed(toError(error)));
  }

  attach(session: MessengerSession): void {
    this.session = session;
    this.dispatching = this.dispatchDeps(session);
    this.hold.attach(session);
    this.firstContacts.attach(session);
    void session.historyTaken.then(() => this.wakeUp.ring());
    void session.caughtUp.then(() => {
      if (this.session === session) this.caughtUp = session;
      this.wakeUp.ring();
    });
    this.wakeUp.ring();
  }

  /** From the next message on; one that waits for another pace asks again. */
  keepPace(pace: Pace): void {
    if (isDeepStrictEqual(pace, this.pace)) return;
    this.pace = pace;
    this.wakeUp.ring();
  }

  detach(): void {
    this.session = undefined;
    this.dispatching = undefined;
    this.caughtUp = undefined;
    this.hold.detach();
    this.firstContacts.detach();
    this.forgetLookUps();
  }

  /** Ready recipients are looked up again, and pass its checks again. */
  forgetLookUps(): void {
    this.optOutsChanged();
    for (const send of this.sends.inTurn()) send.forgetLookUps();
    this.wakeUp.ring();
  }

  /** Nothing more waits for a person who was forgotten: a lookup would make a session with them again. */
  dropPerson(number: string): void {
    const numbers = new Set(spellingsOf(number));
    this.hold.forget(number);
    for (const send of this.sends.inTurn()) send.dropPerson(numbers);
    this.settle();
  }

  /** Claims that wait for their turn are given back, and ask the opt-outs again. */
  optOutsChanged(): void {
    this.news++;
  }

  /** The network has announced that it restricts something, or nothing more. */
  hasNews(): void {
    this.hold.hasNews();
    this.wakeUp.ring();
  }

  /** A person wrote to the account: they may be a held recipient, once their number is known. */
  metPerson({ phone, hiddenId }: Person): void {
    if (phone !== undefined) this.met(phone);
    else if (hiddenId !== undefined) this.writers.add(hiddenId);
  }

  /** These numbers and hidden identifiers belong together. Called often. */
  numbersKnown(people: readonly KnownPerson[]): void {
    for (const { phone, hiddenId } of people) if (this.writers.take(hiddenId)) this.met(phone);
  }

  private met(phone: string): void {
    this.hold.metPerson(phone);
    this.firstContacts.metPerson(phone);
  }

  /** Looks at cancels and expiries. Called on doorbells. */
  async refresh(): Promise<void> {
    await dropEnded(this.sends, this.deps);
    this.settle();
  }

  /** A recipient was to be claimed whose send is over. */
  private async expire({ messageId }: SendProgress): Promise<void> {
    const { store, ownership, clock } = this.deps;
    await expireSend(store, ownership.address, messageId, clock.nowMs());
    this.sends.drop(messageId);
    this.settle();
  }

  /**
   * Takes no more work, gives back what is claimed and not written, and waits a moment for acks that are under way.
   * @param options.hasFailed an error ends this owner: what the library has is not given back.
   */
  async stop({ hasFailed = false } = {}): Promise<void> {
    this.stopped = true;
    this.hasFailed = hasFailed;
    this.optOutsChanged();
    this.turns.end();
    this.codes.stop();
    // If that fails, or a question is under way, the next owner is slower by some messages.
    void this.pacePlaces?.giveBack().catch(() => {});
    this.wakeUp.ring();
    const deadlineMs = this.deps.clock.monotonicMs() + LAST_ACKS_MS;
    while (this.inFlight && !this.inFlight.isEmpty && this.deps.clock.monotonicMs() < deadlineMs)
      await this.wakeUp.wait(20);
    this.detach();
    this.hold.stop();
    this.sends.stop();
    this.failures.writeAll();
    this.spans.writeAll();
  }

  private makeActiveSends(): ActiveSends {
    const { store, ownership, clock, logger, onFailed, memory } = this.deps;
    const loading = { ...this.deps, takeIns: new TakeIns(this.deps) };
    return new ActiveSends({
      address: ownership.address,
      memory,
      monotonicMs: clock.monotonicMs,
      nowMs: clock.nowMs,
      load: (messageId, options) => loadSend(loading, messageId, options),
      note: (messageId) => loading.takeIns.note(parseMessageId(messageId)!.tag),
      onOtp: () => this.codes.goOn(),
      onLoaded: (send) => this.goOn(send),
      onFinished: (send) => {
        const { messageId, record } = send;
        this.failures.end(send);
        this.spans.end(send);
        logger.debug('send finished', { messageId, requestId: record.requestId });
        if (record.priority === 'otp') void ringDoorbell(store, { topic: 'results', ...ownership.address });
      },
      onUnloadable: ({ messageId, requestId }, error) => {
        if (error instanceof FencedError) onFailed(error);
        else logger.error('send cannot be loaded', { messageId, requestId, error });
      },
      findHolding: (messageIds, phones) => findHolding(this.deps, messageIds, phones),
      findHeldNumber: (messageIds, isWanted) => findHeldNumber(this.deps, messageIds, isWanted),
      readPage: (after) => pageOpenSends(store, ownership.address, { priority: 'bulk', after, limit: MAX_FOUND }),
      onUnreadable: (error) => logger.warn('open sends cannot be read', { error }),
    });
  }

  /** Strangers wait, or wait no more. */
  private holdEvents() {
    return {
      findHeld: (isWanted: (number: string) => boolean) => this.sends.findHeld(isWanted),
      onHeld: () => this.forgetLookUps(),
      onLifted: () => {
        this.sends.resume();
        this.wakeUp.ring();
      },
      onMet: (phone: string) => {
        this.sends.release(phone);
        this.wakeUp.ring();
      },
    };
  }

  private makePreparation(): SendPreparation {
    const { sends, hold, firstContacts, failures } = this;
    return new SendPreparation({
      ...this.deps,
      ...{ sends, hold, firstContacts, failures },
      currentSession: () => this.session,
      currentPace: () => this.pace,
      onPrepared: (send) => this.goOn(send),
    });
  }

  private makePacePlaces(): PacePlaces {
    const countReady = () =>
      this.sends.countReady({ most: 2 * MAX_UNANSWERED, otpOnly: this.caughtUp !== this.session });
    return new PacePlaces({ ...this.deps, currentPace: () => this.pace, countReady });
  }

  private makeInFlight(): InFlight {
    return new InFlight({
      ...{ turns: this.turns, distance: this.distance },
      onEnded: ({ send }) => this.sends.settle(send),
      onRoom: () => this.wakeUp.ring(),
      onFailed: (thrown) => this.deps.onFailed(toError(thrown)),
    });
  }

  /** It is loaded, or has more that is ready. */
  private goOn(send?: SendProgress): void {
    if (send?.record.priority === 'otp' && send.wantsToGo) this.codes.goOn();
    this.settle(send);
  }

  private settle(send?: SendProgress): void {
    this.sends.settle(send);
    this.wakeUp.ring();
  }

  private async pump(): Promise<void> {
    while (!this.stopped) {
      const { session, dispatching } = this;
      this.hold.tick();
      this.firstContacts.tick();
      this.sends.wake();
      this.failures.tick(this.deps.clock.nowMs());
      this.spans.tick(this.deps.clock.nowMs());
      const isForCodes = this.codes.haveDevice({ hasWaiting: this.sends.hasWaitingOtp });
      if (session) this.preparation.prepare(session, { otpOnly: isForCodes });
      const otpOnly = isForCodes || this.caughtUp !== session;
      const isAlone = !otpOnly && this.sends.wantsAlone({ isCareful: this.deps.isCareful() });
      if (!dispatching || !this.maySend({ otpOnly, isAlone })) {
        await this.wakeUp.wait(this.lookMs());
        continue;
      }
      this.isNextAlone = isAlone;
      const dispatched = await dispatchMessage(dispatching);
      if (dispatched.kind === 'wait') await this.waitForPace(dispatched.ms);
      else if (dispatched.kind === 'started') this.follow(dispatched);
      else if (dispatched.kind === 'rest') await this.wakeUp.wait(dispatched.ms);
      else if (dispatched.kind === 'nothing') await this.wakeUp.wait(LOOK_MS);
      else {
        this.sends.settle(dispatched.send);
        // Gives other work of the process a turn, as no gate may have waited for anything.
        await setImmediate();
      }
    }
  }

  private lookMs(): number {
    const isQuiet = this.sends.isEmpty && !this.hold.isOn && !this.firstContacts.isOn;
    return isQuiet ? QUIET_LOOK_MS : LOOK_MS;
  }

  private async waitForPace(ms: number): Promise<void> {
    const sinceMs = this.deps.clock.monotonicMs();
    await this.wakeUp.wait(ms);
    this.deps.metrics.countPaceWait(this.deps.clock.monotonicMs() - sinceMs);
  }

  /** Made once for all messages of a session. */
  private dispatchDeps(session: MessengerSession): DispatchDeps {
    const { sends, hold, firstContacts, preparation, verdicts, spans, turns, distance } = this;
    return {
      ...{ ...this.deps, session, hold, firstContacts, preparation, verdicts, spans, turns, distance },
      pacePlaces: () => (this.pacePlaces ??= this.makePacePlaces()),
      countNews: () => this.news,
      hasFailed: () => this.hasFailed,
      pick: () => (this.isNextAlone ? sends.nextAlone : sends.next({ otpOnly: this.caughtUp !== session })),
      take: (item) => sends.take(item),
      onAck: (outcome, writtenAtMs) => {
        // A session on which later messages were answered is alive: then it is this one message that is not.
        if (outcome.kind !== 'unacknowledged') this.answeredAtMs = this.deps.clock.monotonicMs();
        else if (this.answeredAtMs <= writtenAtMs) this.deps.onStalled(session);
      },
      onExpired: (send) => this.expire(send),
    };
  }

  private maySend({ otpOnly, isAlone }: { otpOnly: boolean; isAlone: boolean }): boolean {
    const { sends } = this;
    if (!isAlone && !sends.hasReady({ otpOnly })) return false;
    this.inFlight ??= this.makeInFlight();
    const { inFlight } = this;
    const hasOtp = () => sends.hasReady({ otpOnly: true });
    // A message that must be alone waits for all other acks, and the others wait for its ack.
    if ((isAlone || inFlight.isAlone) && !inFlight.isEmpty) return false;
    if (isAlone) return true;
    // If it crashes this process as well, it was the only one in flight and is known.
    if (this.deps.isCareful() && !inFlight.isEmpty && !hasOtp()) return false;
    if (!inFlight.hasRoom({ otpOnly })) return false;
    return inFlight.hasTurn || (inFlight.hasTurnForOtp && hasOtp());
  }

  private follow({ item, writing }: Extract<Dispatched, { kind: 'started' }>): void {
    if (item.send.record.priority === 'otp') this.codes.follow(writing);
    if (item.isAlone) this.logAlone(item);
    this.inFlight!.follow(item, writing);
  }

  private logAlone({ send: { messageId, record }, recipient: recipientIndex }: WorkItem): void {
    const fields = { messageId, requestId: record.requestId, recipientIndex };
    this.deps.logger.warn('several owners ended with this message in flight: it goes out alone', fields);
  }
}
