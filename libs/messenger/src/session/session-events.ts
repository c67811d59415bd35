import type { DisconnectOutcome } from '../codes/disconnect-outcomes.js';
import type { Receipt } from '../inbound/read-receipt.js';
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
   * this process. When it rejects, or never settles, the network says it again at the next login.
   */
  | { kind: 'receipt'; receipt: Receipt }
  /**
   * A person wrote to the account; not in groups. After an absence also what came meanwhile. Confirmed as receipts are,
   * and nothing else comes in before; when the handler rejects, the session ends.
   */
  | { kind: 'message'; message: IncomingMessage }
  /** The network took back an ack: an error for an id that was acknowledged before, or that is not waited for any more. */
  | { kind: 'lateRefusal'; refusal: LateRefusal }
  /** The network has changed what the account may do: `readRestriction` tells what. Can come before `open`. */
  | { kind: 'restrictionNews' }
  /** Which number and which hidden identifier are one person's: of each pair that the keys get, and often again. */
  | { kind: 'numbersKnown'; people: readonly KnownPerson[] }
  /** People may have other names by now: what was looked up is not known any more. */
  | { kind: 'lookUpsForgotten' }
  /** The network says when it will refuse our version; `undefined`: not any more. Can come before `open`. */
  | { kind: 'versionDeadline'; expiresAtMs: number | undefined }
  /** Pending key writes are done. The session is of no use after it: open another. */
  | { kind: 'closed'; outcome: DisconnectOutcome; circumstances: EndCircumstances };

/** Must not throw. What it returns matters for `receipt` and `message` only. */
export type OnSessionEvent = (event: SessionEvent) => void | Promise<void>;

export interface LinkingCode {
  /** Text of a QR code, or the eight characters to type. */
  kind: 'qr' | 'pairing';
  value: string;
  expiresAtMs: number;
  /** A phone has scanned one already, and the network wants it to scan this one, too. */
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
  /** Of its writer, as `digits@lid`, where the network tells. Its digits look like a phone number but are not one. */
  hiddenId?: string;
  /** The beginning of what a person reads; empty for files without a caption. */
  text: string;
  /** When the network took it, to the second. */
  atMs: number;
}
