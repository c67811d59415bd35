import type { MediaContent, MediaUpload } from '@gateway/contracts/content/media-content';
import type { ReadyContent } from '@gateway/contracts/content/message-content';
import type { Restriction, RestrictionKind } from '@gateway/contracts/devices/restriction';
import type { SessionReport } from '@gateway/contracts/devices/session-report';
import type { AckOutcome } from '../codes/ack-outcomes.js';
import type { LostFile } from '../inbound/ask-for-file.js';
import type { FirstContactStanding } from '../tokens/first-contacts.js';

export interface OutgoingMessage {
  /** Digits. */
  to: string;
  platformId: string;
  content: ReadyContent;
}

/** `error` is the network's code: 408 no answer, 428 closed, 429 and 5xx pass; 400 is a bundle of keys that is not genuine. */
export type LookUpResult = { exists: true } | { exists: false } | { error: number };

/** On the wire. */
export interface SentMessage {
  /** The network's answer is there, or is not awaited any more. Its verdict may come later. */
  answered: Promise<unknown>;
  /** The network's verdict, after a second attempt where that helps, and once the keys of the message are stored. */
  ack: Promise<AckOutcome>;
}

export interface MessengerSession {
  /**
   * Resolves when all messages of the backlog have been reported and stored; or
   * when the network has sent nothing of it for long. Never if the session ends first.
   */
  readonly caughtUp: Promise<void>;
  /**
   * Encrypts and writes one message. Resolves once the stanza is written; rejects when nothing was written. Bounded in
   * time. The same `platformId` may be sent again: phones drop the duplicate.
   */
  send(message: OutgoingMessage): Promise<SentMessage>;
  /**
   * Encrypts a file and uploads it, for any number of later messages, of any session of this account. Bounded in time;
   * rejects if no host of the network accepted it. Calling it again uploads again.
   */
  uploadMedia(media: Pick<MediaContent, 'type' | 'mimeType'>, bytes: Buffer): Promise<MediaUpload>;
  /**
   * Looks up which of the numbers are on the messenger, and prepares their keys for sending, many at a time.
   * @param options.urgent takes precedence: a caller waits for the message.
   */
  lookUp(numbers: readonly string[], options?: { urgent?: boolean }): Promise<Map<string, LookUpResult>>;
  /** Resolves when no lookup of these numbers is under way, and what was found is stored: after a minute at most. Never rejects. */
  lookUpsSettled(numbers: readonly string[]): Promise<void>;
  /** While this runs, lookups that are not urgent make no Signal sessions: that would fill the event loop. */
  urgently<Result>(work: () => Promise<Result>): Promise<Result>;
  /** The number by which the network knows a person, once looked up; before that, the given number. */
  numberOf(number: string): string;
  /** The hidden identifier (`digits@lid`) of the person behind a number, from a lookup or from the keys. Asks nothing of the network. */
  hiddenIdOf(number: string): Promise<string | undefined>;
  /** The same, but only from a lookup: pairs in the keys may be invented by a phone. */
  namedHiddenIdOf(number: string): string | undefined;
  /** Which of the numbers the account has a conversation with, by its keys. Does not ask the network. */
  findAcquainted(numbers: readonly string[]): Promise<Set<string>>;
  /**
   * The network's restriction on new conversations; `undefined` if there is none. Bounded in time;
   * rejects when the network did not answer. Asking is no attempt at sending: safe to repeat.
   * @param about the limit that must be answered, as messages wait for it: asked at once. By default the answer about
   *   either one is enough; they take turns.
   */
  readRestriction(about?: RestrictionKind): Promise<Restriction | undefined>;
  /** Whether messages to strangers may go out: see `FirstContactStanding`. Cheap; it changes with time and with news. */
  readonly firstContacts: FirstContactStanding;
  /** Resolves when the phone's first history was stored, at once if it already was. Never if none comes. */
  readonly historyTaken: Promise<void>;
  /** Which of the numbers have given the account a usable token, by its keys. Does not ask the network. */
  findGivers(numbers: readonly string[]): Promise<Set<string>>;
  /** Report that the network refused a message to this person (463) without a restriction. Several in a row change `firstContacts`. */
  noteRefusal(number: string): Promise<void>;
  /** State of the session, and whether the network answers. Sends no message; bounded in time; safe to repeat. */
  examine(): Promise<SessionReport>;
  /**
   * Deletes the resend count of a person; keys that were on their way to the store are there afterwards. Does nothing if
   * the session has ended. Safe to repeat. Rejects if that cannot be stored.
   * @param users their numbers and hidden identifiers, digits.
   */
  forgetResends(users: ReadonlySet<string>): Promise<void>;
  /** The stanzas of the next `ms`, redacted: no texts, keys, tokens, whole numbers. Rejects while another trace runs. */
  trace(ms: number): Promise<string[]>;
  /**
   * Asks the account's phone to upload a file again that a person sent and the network has not any more. Resolves with its path
   * at the network, or `undefined` if the phone does not have it either. Bounded in time: rejects when the phone does not answer.
   */
  askForFile(file: LostFile): Promise<string | undefined>;
  /** URL of the account's picture, `undefined` when hidden. Bounded in time. */
  fetchProfilePicture(): Promise<string | undefined>;
  /** Removes this device from the account at the network; rejects when the network did not confirm within `timeoutMs`. */
  logOut(timeoutMs: number): Promise<void>;
  /** Ends the socket and waits for pending key writes. Safe to repeat. */
  close(): Promise<void>;
}
