import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import type { FirstContactStanding } from '@gateway/messenger/tokens/first-contacts';
import type { Clock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';

export interface FirstContactDeps {
  clock: Clock;
  logger: Logger;
  /** From now on messages to people without a token wait. */
  onHeld(): void;
  /** From now on none of them waits. */
  onLifted(): void;
  /** This person, who may be a waiting recipient, has given a token. */
  onMet(phone: string): void;
}

/** The one refusal that may be for a missing token. */
const NOT_TRUSTED = 463;
/** A token comes with what a person writes, a moment earlier or later. */
const TOKEN_MS = 60_000;
const LOOK_MS = 250;
const MAX_MET = 1_000;
const WAITING = 'messages to strangers wait for the history of the phone';
const HELD =
  'messages to strangers are held: the network refuses them and the account has no salt; link the device again';

/**
 * Whether messages to strangers wait because the account has no salt: it was linked a moment ago, or the network has
 * refused several in a row. The session knows, see `FirstContactStanding`; it is polled here, so that
 * each change is handled once.
 */
export class FirstContactHold {
  private standing: FirstContactStanding = 'open';
  private session: MessengerSession | undefined;
  /** People who wrote while it was on, by canonical number. */
  private readonly met = new Map<string, { untilMs: number; isGiver: boolean }>();
  private isLooking = false;
  private lookAtMs = 0;

  constructor(private readonly deps: FirstContactDeps) {}

  get isOn(): boolean {
    return this.standing !== 'open';
  }

  /** Whether a message to this person waits. False if their token has arrived since the last check. */
  holds(number: string): boolean {
    return this.isOn && !this.met.get(canonicalPhoneNumber(number))?.isGiver;
  }

  attach(session: MessengerSession): void {
    this.session = session;
    this.tick();
  }

  detach(): void {
    this.session = undefined;
  }

  /** Called often. */
  tick(): void {
    const { session } = this;
    if (!session) return;
    if (session.firstContacts !== this.standing) this.enter(session.firstContacts);
    const nowMs = this.deps.clock.monotonicMs();
    if (this.isLooking || this.met.size === 0 || nowMs < this.lookAtMs) return;
    this.isLooking = true;
    this.lookAtMs = nowMs + LOOK_MS;
    void this.lookAtMet(session)
      .catch((thrown: unknown) => this.deps.logger.debug('tokens cannot be read', { error: toError(thrown) }))
      .finally(() => {
        this.isLooking = false;
      });
  }

  /** A person wrote to the account, and may give it a token. */
  metPerson(phone: string): void {
    if (!this.isOn || this.met.size >= MAX_MET) return;
    this.met.set(canonicalPhoneNumber(phone), { untilMs: this.deps.clock.monotonicMs() + TOKEN_MS, isGiver: false });
    this.lookAtMs = 0;
  }

  /** The network refused a message and reports no restriction. Resolves with whether its recipient waits now. */
  async wasRefused(number: string, code: number): Promise<boolean> {
    const { session } = this;
    if (!session || code !== NOT_TRUSTED) return false;
    await session.noteRefusal(number);
    this.tick();
    return this.isOn && !(await session.findGivers([number])).has(number);
  }

  private async lookAtMet(session: MessengerSession): Promise<void> {
    const givers = await session.findGivers([...this.met.keys()]);
    const nowMs = this.deps.clock.monotonicMs();
    for (const [phone, person] of this.met) {
      if (person.untilMs < nowMs) this.met.delete(phone);
      else if (!person.isGiver && givers.has(phone)) {
        person.isGiver = true;
        this.deps.onMet(phone);
      }
    }
  }

  private enter(standing: FirstContactStanding): void {
    const before = this.standing;
    this.standing = standing;
    this.log(before);
    if (standing === 'open') {
      this.met.clear();
      this.deps.onLifted();
    } else if (before === 'open') this.deps.onHeld();
  }

  private log(before: FirstContactStanding): void {
    const { logger } = this.deps;
    if (this.standing === 'refused') logger.warn(HELD, { before });
    else if (this.standing === 'awaitingHistory') logger.info(WAITING, { before });
    else logger.info('messages to strangers no longer wait for the phone history', { before });
  }
}
