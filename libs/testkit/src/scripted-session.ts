import type { MediaUpload } from '@gateway/contracts/content/media-content';
import type { FileQuestion } from '@gateway/contracts/devices/owner-questions';
import type { Restriction } from '@gateway/contracts/devices/restriction';
import type { AckOutcome } from '@gateway/messenger/codes/ack-outcomes';
import type { DisconnectOutcome } from '@gateway/messenger/codes/disconnect-outcomes';
import { SessionEndedError } from '@gateway/messenger/session/session-errors';
import type {
  Account,
  EndCircumstances,
  OnSessionEvent,
  SessionEvent,
} from '@gateway/messenger/session/session-events';
import type {
  LookUpResult,
  MessengerSession,
  OutgoingMessage,
  SentMessage,
} from '@gateway/messenger/session/session-types';
import type { FirstContactStanding } from '@gateway/messenger/tokens/first-contacts';

/** What the network says of a message; `silence`: nothing, until the session ends. */
export type Answer = AckOutcome | 'silence';

/**
 * What the scripted network answers: each is called for each question, and may be left out. One
 * script may serve any number of sessions.
 */
export interface SessionScript {
  /** Default: accepted. A promise is an ack that comes later. Throws: nothing was written. */
  answer?(message: OutgoingMessage): Answer | Promise<Answer>;
  /** Default: every number exists. Throws: the session could not ask. */
  lookUp?(number: string): LookUpResult;
  /** Of a person, `digits@lid`. */
  hiddenIdOf?(number: string): string | undefined;
  /** Default: the account has a conversation with all people. */
  isAcquainted?(number: string): boolean;
  /** Default: all people have given a token. */
  isGiver?(number: string): boolean;
  firstContacts?(): FirstContactStanding;
  /** Default: none. Throws: the network does not answer. */
  restriction?(): Restriction | undefined;
  /** Throws: no host took the file. */
  upload?(bytes: Buffer): MediaUpload;
  /** Where the file is at the network. Default: the phone does not have it either. */
  askForFile?(file: FileQuestion): string | undefined;
  /** By default at once: all that people wrote has been reported. */
  caughtUp?: Promise<void>;
}

const AT_ONCE = Promise.resolve();
const UPLOAD: MediaUpload = {
  ...{ url: 'https://media.invalid/1', directPath: '/1', mediaKey: Buffer.alloc(32).toString('base64') },
  ...{ fileSha256: '', fileEncSha256: '', atMs: 0 },
};

/**
 * A session whose answers a script gives, without a socket, keys or timers: a few hundred bytes, so that a process can have
 * thousands. It is open from the beginning, keeps to what `MessengerSession` promises, and ends when it is told to.
 */
export class ScriptedSession implements MessengerSession {
  readonly caughtUp: Promise<void>;
  readonly historyTaken = AT_ONCE;
  #isOver = false;
  /** Ends the wait for acks that do not come. Made at the first of them. */
  #lapses: Set<() => void> | undefined;

  constructor(
    private readonly script: SessionScript = {},
    private readonly onEvent: OnSessionEvent = () => {},
  ) {
    this.caughtUp = script.caughtUp ?? AT_ONCE;
  }

  /** Something happens at the network. What it returns is the promise that a confirmation to the network waits for. */
  report(event: Exclude<SessionEvent, { kind: 'closed' }>): void | Promise<void> {
    return this.onEvent(event);
  }

  /** The connection is over: what was not answered is not answered any more. */
  lose(outcome: DisconnectOutcome, circumstances: EndCircumstances = {}): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.lapse();
    void this.onEvent({ kind: 'closed', outcome, circumstances });
  }

  /** The time for acks is over, of all messages that have got none. */
  lapse(): void {
    for (const lapse of this.#lapses ?? []) lapse();
    this.#lapses = undefined;
  }

  async send(message: OutgoingMessage): Promise<SentMessage> {
    this.#assertOpen();
    const answer = this.script.answer?.(message) ?? { kind: 'accepted', atMs: Date.now() };
    const ack = this.#ackOf(answer);
    return { answered: ack, ack };
  }

  async lookUp(numbers: readonly string[]): Promise<Map<string, LookUpResult>> {
    this.#assertOpen();
    return new Map(numbers.map((number) => [number, this.script.lookUp?.(number) ?? { exists: true }]));
  }

  numberOf(number: string): string {
    return number;
  }

  async hiddenIdOf(number: string): Promise<string | undefined> {
    return this.script.hiddenIdOf?.(number);
  }

  namedHiddenIdOf(number: string): string | undefined {
    return this.script.hiddenIdOf?.(number);
  }

  async findAcquainted(numbers: readonly string[]): Promise<Set<string>> {
    this.#assertOpen();
    return new Set(numbers.filter((number) => this.script.isAcquainted?.(number) ?? true));
  }

  async findGivers(numbers: readonly string[]): Promise<Set<string>> {
    this.#assertOpen();
    return new Set(numbers.filter((number) => this.script.isGiver?.(number) ?? true));
  }

  get firstContacts(): FirstContactStanding {
    return this.script.firstContacts?.() ?? 'open';
  }

  async noteRefusal(): Promise<void> {}

  async readRestriction(): Promise<Restriction | undefined> {
    this.#assertOpen();
    return this.script.restriction?.();
  }

  async uploadMedia(_media: unknown, bytes: Buffer): Promise<MediaUpload> {
    this.#assertOpen();
    return this.script.upload?.(bytes) ?? UPLOAD;
  }

  async askForFile(file: FileQuestion): Promise<string | undefined> {
    return this.script.askForFile?.(file);
  }

  async fetchProfilePicture(): Promise<undefined> {}

  async forgetResends(): Promise<void> {}

  urgently<Result>(work: () => Promise<Result>): Promise<Result> {
    return work();
  }

  async lookUpsSettled(): Promise<void> {}

  async examine(): Promise<never> {
    throw new Error('a scripted session has nothing to examine');
  }

  async trace(): Promise<string[]> {
    return [];
  }

  async logOut(): Promise<void> {
    this.#assertOpen();
    this.lose({ kind: 'loggedOut', code: 401 });
  }

  async close(): Promise<void> {
    this.lose({ kind: 'closedByUs' });
  }

  async #ackOf(answer: Answer | Promise<Answer>): Promise<AckOutcome> {
    const lapsed = new Promise<AckOutcome>((resolve) => {
      if (answer !== 'silence' && !(answer instanceof Promise)) return;
      this.#lapses ??= new Set();
      this.#lapses.add(() => resolve({ kind: 'unacknowledged' }));
    });
    const said = await Promise.race([answer, lapsed]);
    return said === 'silence' ? lapsed : said;
  }

  #assertOpen(): void {
    if (this.#isOver) throw new SessionEndedError();
  }
}

/** Replaces `openSession`: sessions on which the script answers, each logged in at once. */
export function logInOnScript(
  script: SessionScript,
  account: Account,
): (options: { onEvent: OnSessionEvent }) => Promise<ScriptedSession> {
  return async ({ onEvent }) => {
    const session = new ScriptedSession(script, onEvent);
    // Its caller has the session by then.
    setImmediate(() => session.report({ kind: 'open', account }));
    return session;
  };
}
