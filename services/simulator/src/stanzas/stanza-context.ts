import type { LinkedDevice } from '../accounts/linked-device.js';
import type { PostOffice } from '../messaging/post-office.js';
import type { Network } from '../network/network.js';
import type { PairingDesk } from '../pairing/pairing-desk.js';
import type { Session } from '../sessions/session.js';

/** The parts of the server that stanza handlers work with. */
export interface Server {
  readonly network: Network;
  readonly office: PostOffice;
  readonly pairing: PairingDesk;
}

/** Whose stanza it is: a session after its login. */
export interface Client {
  readonly session: Session;
  readonly device: LinkedDevice;
}
