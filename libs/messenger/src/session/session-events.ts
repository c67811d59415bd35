import type { InboundContent } from '@gateway/contracts/content/inbound-content';
import type { DisconnectOutcome } from '../codes/disconnect-outcomes.js';
import type { RetryOutcome } from '../codes/retry-outcomes.js';
import type { Receipt } from '../inbound/read-receipt.js';
import type { SealedEdit } from '../inbound/sealed-edit.js';
import type { OptionalQuery } from './optional-queries.js';

/** What a session reports, in the order of the wire. `closed` comes exactly once, and as the last. */
export type SessionEvent =
  /** A linking code to show. Each replaces the one before. */
  | { kind: 'code'; code: LinkingCode }
  /** The phone accepted; keys are committed. The network closes the socket next (restart). */
  | { kind: 'linked'; account: Account }
  | { kind: 'open'; account: Account }
  /** The account's name became known, or changed, after `open`. */
  | { kind: 'renamed'; name: string }
  /**
   * It is confirmed to the network when the handler's promise resolves: stored by then, it survives the end of
   * this process. If it rejects, or never settles, the network sends it again at the next login.
   */
  | { kind: 'receipt'; receipt: Receipt }
  /**
   * A person wrote to the account; not in groups. Includes the backlog. Confirmed like receipts,
   * and nothing else is delivered before that; if the handler rejects, the session ends.
   */
  | { kind: 'message'; message: IncomingMessage }
  /** The network revoked an ack: an error for an id that was acknowledged before, or is no longer waited for. */
  | { kind: 'lateRefusal'; refusal: LateRefusal }
  /** The restrictions of the account have changed: `readRestriction` has the details. Can come before `open`. */
  | { kind: 'restrictionNews' }
  /** A pair of number and hidden identifier that the keys get; often repeated. */
  | { kind: 'numbersKnown'; people: readonly KnownPerson[] }
  /** The identifiers of people may have changed: earlier lookups are no longer valid. */
  | { kind: 'lookUpsForgotten' }
  /** A phone could not decrypt a message and asked for it again. */
  | { kind: 'retryAnswered'; outcome: RetryOutcome }
  /** The network announced when it will refuse our version; `undefined`: no longer. Can come before `open`. */
  | { kind: 'versionDeadline'; expiresAtMs: number | undefined }
  /** Pending key writes are done. The session cannot be used any more: open another. */
  | { kind: 'closed'; outcome: DisconnectOutcome; circumstances: EndCircumstances };

/** Must not throw. The result matters only for `receipt` and `message`. */
export type OnSessionEvent = (event: SessionEvent) => void | Promise<void>;

export interface LinkingCode {
  /** Text of a QR code, or the eight characters to type. */
  kind: 'qr' | 'pairing';
  value: string;
  expiresAtMs: number;
  /** A phone has scanned one code, and the network wants it to scan this one as well. */
  scanAgain?: true;
}

export interface Account {
  jid: string;
  /** Digits. */
  phone: string;
  name?: string;
}

export interface LateRefusal {
  platformId: string;
  code: number;
  /** The same message would be refused again. */
  isFinal: boolean;
}

/** Details of the end of a connection. */
export interface EndCircumstances {
  /** The reason that the server gave, in its own words; nothing that identifies a person. */
  serverWords?: string;
  /** The optional queries that may have caused the end. Absent: unknown. */
  suspects?: OptionalQuery[];
  /** The network announced the end; otherwise the path may have broken. */
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
  /** Of its writer, digits; absent if neither the network nor the keys have it. */
  phone?: string;
  /** `phone` is from a pair in the keys, not from the message. */
  isPhoneStored?: true;
  /** Of its writer, as `digits@lid`, if the network gives it. Its digits look like a phone number but are not one. */
  hiddenId?: string;
  /** The same from a pair in the keys, where the message gives none. */
  storedHiddenId?: string;
  /** As they call themselves. */
  name?: string;
  /** Whole; empty for files without a caption, and for what has none. */
  text: string;
  content: InboundContent;
  /** Id of the message that it quotes. */
  replyTo?: string;
  /** With which its writer seals how they change it, 32 bytes in base64. */
  secret?: string;
  /** Of an edit whose words are sealed with the secret of the message that it changes: see `openEdit`. */
  sealedEdit?: SealedEdit;
  /** When the network accepted it, to the second. */
  atMs: number;
}
