import type { MediaContent, MediaUpload, ReadyContent } from '@gateway/contracts/content/message-content';
import type { Restriction, RestrictionKind } from '@gateway/contracts/devices/restriction';
import type { SessionReport } from '@gateway/contracts/devices/session-report';
import type { AckOutcome } from '../codes/ack-outcomes.js';
import type { DisconnectOutcome } from '../codes/disconnect-outcomes.js';
import type { FirstContactStanding } from '../tokens/first-contacts.js';
import type { OptionalQuery } from './optional-queries.js';

/** What a session reports. Handlers must not throw; they are called in the order of the wire. */
export interface SessionEvents {
  /**
   * A linking code to show: QR text, or the eight characters to type. Each replaces the one before. `scanAgain`: a phone
   * has scanned one already, and the network wants it to scan this one, too.
   */
  onCode(code: { kind: 'qr' | 'pairing'; value: string; expiresAtMs: number; scanAgain?: true }): void;
  /** The phone accepted; keys are committed. The network closes the socket next (restart). */
  onLinked(account: { jid: string; phone: string; name?: string }): void;
  onOpen(account: { jid: string; phone: string; name?: string }): void;
  /** The account's name became known, or changed, after `onOpen`. */
  onRenamed?(name: string): void;
  /**
   * The network is told that we have it when the returned promise resolves: written down by then, it survives the end of
   * this process. When it rejects, or never settles, the network says it again at the next login.
   */
  onReceipt(receipt: { platformIds: string[]; kind: 'delivered' | 'read'; atMs: number }): void | Promise<void>;
  /**
   * Somebody wrote to the account; not in groups. After an absence also what came meanwhile. Confirmed as receipts are,
   * and nothing else comes in before; when it rejects, the session ends.
   */
  onMessage?(message: IncomingMessage): void | Promise<void>;
  /**
   * The network took back an ack: an error for an id that was acknowledged before, or that nobody waits for any more.
   * `isFinal`: the same message would be refused again.
   */
  onLateRefusal(refusal: { platformId: string; code: number; isFinal: boolean }): void;
  /** The network has changed what the account may do: `readRestriction` tells what. Can come before `onOpen`. */
  onRestrictionNews?(): void;
  /** Which number and which hidden identifier are one person's: of each pair that the keys get, and often again. */
  onNumbersKnown?(people: readonly KnownPerson[]): void;
  /** People may have other names by now: what was looked up is not known any more. */
  onLookUpsForgotten?(): void;
  /** The network says when it will refuse our version; `undefined`: not any more. Can come before `onOpen`. */
  onVersionDeadline?(expiresAtMs: number | undefined): void;
  /** Exactly once, as the last event, when pending key writes are done. The session is of no use after it: open another. */
  onClosed(outcome: DisconnectOutcome, circumstances: EndCircumstances): void;
}

/** What is known of the end of a connection beside what it means. */
export interface EndCircumstances {
  /** The reason that the server gave, in its own words; nothing that identifies a person. */
  serverWords?: string;
  /** When the network may have ended it over a question: the optional queries that it may be. Absent: it tells nothing. */
  suspects?: OptionalQuery[];
  /** The network said that it ends the connection; else it may be the path that broke. */
  isSaid?: true;
}

/** A person by both names: digits, and `digits@lid`. */
export interface KnownPerson {
  phone: string;
  hiddenId: string;
}

export interface IncomingMessage {
  platformId: string;
  /** Of its writer, as the network knows them. */
  jid: string;
  /** Of its writer, digits; absent when neither the network nor the keys tell. */
  phone?: string;
  /** `phone` is that of a pair in the keys: nothing that came with the message says so. */
  isPhoneStored?: true;
  /** Of its writer, as `digits@lid`, where the network tells. Its digits look like a number and are none. */
  hiddenId?: string;
  /** The beginning of what a person reads; empty for files without a caption. */
  text: string;
  /** When the network took it, to the second. */
  atMs: number;
}

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
   * Resolves when all that people wrote while the device was away has been reported, and `onMessage` is done with it; or
   * when the network has been silent about the rest for long. Never, when the session ends before.
   */
  readonly caughtUp: Promise<void>;
  /**
   * Encrypts and writes one message. Resolves once the stanza is written with a promise of the network's verdict;
   * rejects when nothing was written. Bounded in time. The same `platformId` may be sent again: phones drop the double.
   */
  send(message: OutgoingMessage): Promise<{ ack: Promise<AckOutcome> }>;
  /**
   * Encrypts a file and uploads it, for any number of messages to come, of any session of this account. Bounded in time;
   * rejects when no host of the network took it. Repeating it uploads again.
   */
  uploadMedia(media: Pick<MediaContent, 'type' | 'mimeType'>, bytes: Buffer): Promise<MediaUpload>;
  /**
   * Asks which of the numbers are on the messenger, and prepares their keys for sending, many at a time.
   * @param options.urgent goes before those that are not: somebody waits for the message.
   */
  lookUp(numbers: readonly string[], options?: { urgent?: boolean }): Promise<Map<string, LookUpResult>>;
  /** The number under which the network knows whoever a number leads to, once it was looked up; before, the number itself. */
  numberOf(number: string): string;
  /** The hidden identifier (`digits@lid`) of the person behind a number, from a look-up or from the keys. Asks nothing of the network. */
  hiddenIdOf(number: string): Promise<string | undefined>;
  /** The same where a look-up's answer named it: pairs in the keys may be those of a phone that made them up. */
  namedHiddenIdOf(number: string): string | undefined;
  /** Which of the numbers the account has a conversation with, by its keys: asks nothing of the network. */
  findAcquainted(numbers: readonly string[]): Promise<Set<string>>;
  /**
   * Whether the account may start new conversations, as the network says; `undefined` when it may. Bounded in time;
   * rejects when the network did not answer. Asking is no attempt at sending: safe to repeat.
   * @param about the limit whose answer must not be missing; by default that of either is enough.
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
