import type { OwnRecipientError } from '@gateway/contracts/sends/recipient-errors';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import type { DeviceDeps } from '../deps.js';
import type { FirstContactHold } from '../holding/first-contact-hold.js';
import type { NewContactHold } from '../holding/new-contact-hold.js';
import type { Recipient } from '../preparing/drop-opted-out.js';
import type { HoldReason } from '../scheduling/former-attempts.js';
import type { WorkItem } from '../scheduling/send-progress.js';
import type { PacePlaces } from './pace-places.js';

export interface GateDeps extends DeviceDeps {
  session: MessengerSession;
  pacePlaces(): Pick<PacePlaces, 'take' | 'putBack'>;
  hold: Pick<NewContactHold, 'isOn' | 'findKnown'>;
  firstContacts: Pick<FirstContactHold, 'isOn'>;
}

/** Whether one message to one recipient may go out. */
export type GateAnswer =
  | { kind: 'pass' }
  /** By its pace nothing goes out from this device for so long, in ms. */
  | { kind: 'wait'; ms: number }
  /** The same for a reason that lies in Redis. */
  | { kind: 'rest'; ms: number }
  /** The recipient comes so many ms later, and the gate is asked again after five minutes at most; others of the send and the device go on. */
  | { kind: 'later'; ms: number }
  /** The recipient waits with others of their kind. */
  | { kind: 'hold'; reason: HoldReason }
  /** The recipient must be looked up again: there is no answer now. */
  | { kind: 'lookUp' }
  | LastAnswer;

/** What can still be answered once the recipient is claimed. */
export type LastAnswer =
  | { kind: 'pass' }
  /** The recipient gets nothing of this send. */
  | { kind: 'refuse'; error: OwnRecipientError };

/** Asked before the recipient is claimed. May depend on who it is: the message is picked already. */
export type Gate = (deps: GateDeps, item: WorkItem) => Promise<GateAnswer>;

/** Checked in one round trip with the claim, after its mark, so that every earlier change counts. */
export type LastGate = (deps: GateDeps, item: WorkItem & { person: Recipient }) => Promise<LastAnswer>;

export const PASS = { kind: 'pass' } as const;
