import type { MediaContent, MediaUpload } from '@gateway/contracts/content/media-content';
import type { ReadyContent } from '@gateway/contracts/content/message-content';
import type { Restriction, RestrictionKind } from '@gateway/contracts/devices/restriction';
import type { SessionReport } from '@gateway/contracts/devices/session-report';
import type { AckOutcome } from '../codes/ack-outcomes.js';
import type { FirstContactStanding } from '../tokens/first-contacts.js';

export interface OutgoingMessage {
  /** Digits. */
  to: string;
  platformId: string;
  content: ReadyContent;
}

/** `error` is the network's code: 408 no answer, 428 closed, 429 and 5xx pass; 400 is a bundle of keys that is not genuine. */
export type LookUpResult = { exists: true } | { exists: false } | { error: number };

export interface MessengerSession {
  /**
   * Resolves when all that people wrote while the device was away has been reported, and written down; or
   * when the network has been silent about the rest for long. Never, when the session ends before.
   */
  readonly caughtUp: Promise<void>;
  /**
   * Encrypts and writes one message. Resolves once the stanza is written with a promise of the network's verdict;
   * rejects when nothing was written. Bounded in time. The same `platformId` may be sent again: phones drop the duplicate.
   */
  send(message: OutgoingMessage): Promise<{ ack: Promise<AckOutcome> }>;
  /**
   * Encrypts a file and uploads it, for any number of messages to come, of any session of this account. Bounded in time;
   * rejects when no host of the network took it. Repeating it uploads again.
   */
  uploadMedia(media: Pick<MediaContent, 'type' | 'mimeType'>, bytes: Buffer): Promise<MediaUpload>;
  /**
   * Asks which of the numbers are on the messenger, and prepares their keys for sending, many at a time.
   * @param options.urgent goes before those that are not: a caller waits for the message.
   */
  lookUp(numbers: readonly string[], options?: { urgent?: boolean }): Promise<Map<string, LookUpResult>>;
  /** The number under which the network knows the person that a number leads to, once it was looked up; before, the number itself. */
  numberOf(number: string): string;
  /** The hidden identifier (`digits@lid`) of the person behind a number, from a lookup or from the keys. Asks nothing of the network. */
  hiddenIdOf(number: string): Promise<string | undefined>;
  /** The same where a look-up's answer named it: pairs in the keys may be those of a phone that made them up. */
  namedHiddenIdOf(number: string): string | undefined;
  /** Which of the numbers the account has a conversation with, by its keys: asks nothing of the network. */
  findAcquainted(numbers: readonly string[]): Promise<Set<string>>;
  /**
   * Whether the account may start new conversations, as the network says; `undefined` when it may. Bounded in time;
   * rejects when the network did not answer. Asking is no attempt at sending: safe to repeat.
   * @param about the limit whose answer must not be missing, as messages wait for it: asked at once. By default that of
   *   either is enough, in turn.
   */
  readRestriction(about?: RestrictionKind): Promise<Restriction | undefined>;
  /** Whether messages to strangers may go out: see `FirstContactStanding`. Cheap; it changes with time and with news. */
  readonly firstContacts: FirstContactStanding;
  /** Resolves when the phone's first history was taken, at once when that was before. Never, when none comes. */
  readonly historyTaken: Promise<void>;
  /** Which of the numbers have given the account a token that it can show; by its keys, asks nothing of the network. */
  findGivers(numbers: readonly string[]): Promise<Set<string>>;
  /** The network refused a message to this person (463), and knows of no restriction. Several in a row change `firstContacts`. */
  noteRefusal(number: string): Promise<void>;
  /** How the session stands, and whether the network answers. Sends nothing; bounded in time; safe to repeat. */
  examine(): Promise<SessionReport>;
  /**
   * Forgets that messages went out again to a person; nothing when the session has ended. Safe to repeat. Rejects when that
   * cannot be written.
   * @param users their numbers and hidden identifiers, digits.
   */
  forgetResends(users: ReadonlySet<string>): Promise<void>;
  /** The stanzas of the next `ms`, redacted: no texts, keys, tokens, whole numbers. Rejects while another trace runs. */
  trace(ms: number): Promise<string[]>;
  /** URL of the account's picture, `undefined` when hidden. Bounded in time. */
  fetchProfilePicture(): Promise<string | undefined>;
  /** Removes this device from the account at the network; rejects when the network did not confirm within `timeoutMs`. */
  logOut(timeoutMs: number): Promise<void>;
  /** Ends the socket and waits for pending key writes. Safe to repeat. */
  close(): Promise<void>;
}
