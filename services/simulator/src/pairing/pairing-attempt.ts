import type { Session } from '../sessions/session.js';
import type { Registration } from './registration.js';
import type { SignedDevice } from './sign-device.js';

/** What a scan or a typed code comes to. */
export interface PairingResult {
  readonly number: string;
  /** The jid of the new device. */
  readonly jid: string;
  readonly device: number;
}

/** Why a phone does not link; the admin API answers with these words. */
export type PairingRefusal =
  | 'code is not known or used up'
  | 'code belongs to another client'
  | 'number is not on the messenger'
  | 'no client waits for a code of this number'
  | 'code has expired'
  | 'wrong code'
  | 'a typed code is in progress'
  | 'scan again'
  | 'passkey required'
  | 'refused'
  | 'client did not answer'
  | 'client is gone'
  | 'device signature does not verify';

export class PairingError extends Error {
  readonly reason: PairingRefusal;

  constructor(reason: PairingRefusal) {
    super(reason);
    this.reason = reason;
  }
}

/** A number under which the client asked for an 8-character code, and the keys the two sides exchange. */
export interface CodeRequest {
  readonly number: string;
  readonly ref: Buffer;
  /** salt 32, iv 16, the client's ephemeral key encrypted with the code. */
  readonly wrappedClientKey: Buffer;
  /** When it can be typed no more. */
  readonly expiresAtMs: number;
  wrongTries: number;
  /** When the client answered the phone's half: from then on the link depends on the secret that the two agreed on. */
  finishedAtMs?: number | undefined;
  /** Set while the phone waits for the client's key bundle. */
  onKeyBundle?: ((bundle: Buffer, clientIdentity: Buffer) => void) | undefined;
}

/** One client that shows codes: `showing` -> `confirming` (the phone accepted, the client must sign) -> done. */
export interface PairingAttempt {
  readonly session: Session;
  readonly registration: Registration;
  readonly refs: readonly string[];
  readonly startedAtMs: number;
  expiry: NodeJS.Timeout;
  /** The secret of the code that was scanned first: the client was told to make another. */
  retiredSecret?: string;
  code?: CodeRequest | undefined;
  confirming?: Confirmation;
}

export interface Confirmation {
  readonly queryId: string;
  readonly number: string;
  readonly signed: SignedDevice;
  readonly settle: (answer: Uint8Array | PairingError) => void;
}
