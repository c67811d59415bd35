import type { KeyBundle } from '../phones/key-bundle.js';
import type { BinaryNode } from '../wire/nodes.js';
import { Mailbox, type MailboxSink } from './mailbox.js';
import { PreKeyStock } from './pre-key-stock.js';

/** What a client says about itself when it registers. */
export interface DeviceKeys {
  /** The Noise static key its logins must use. */
  readonly noiseKey: Buffer;
  readonly identity: Buffer;
  readonly registrationId: number;
  readonly signedPreKey: { readonly keyId: number; readonly publicKey: Buffer; readonly signature: Buffer };
  /** The phone's and its own signature, as it sent them when it was linked: a client that opens a session with it is shown them. */
  readonly signedIdentity?: Buffer | undefined;
}

/** The live connection of a device, as far as its account has to do with it. */
export interface DeviceConnection extends MailboxSink {
  /** Says `conflict` and closes: a newer login took the device over. */
  replace(): void;
  /** Says a stream error and closes. */
  endStream(code: number): void;
  /** Says that the device was removed and closes. */
  unlink(): void;
}

interface DeviceOrigin {
  readonly number: string;
  readonly id: number;
  readonly keyIndex: number;
  readonly platform: string;
  readonly atMs: number;
}

/** All of a device that outlives a restart of the server. */
export interface DeviceState {
  readonly place: DeviceOrigin;
  readonly keys: DeviceKeys;
  readonly logins: number;
  readonly introduced: boolean;
  readonly preKeys: Buffer;
  readonly waiting: readonly BinaryNode[];
}

/** A client linked to an account: what the server keeps about it. */
export class LinkedDevice {
  readonly number: string;
  readonly id: number;
  readonly keyIndex: number;
  readonly platform: string;
  readonly noiseKey: Buffer;
  readonly identity: Buffer;
  readonly signedIdentity: Buffer | undefined;
  readonly linkedAtMs: number;
  readonly preKeys = new PreKeyStock();
  readonly mailbox = new Mailbox();
  registrationId: number;
  signedPreKey: DeviceKeys['signedPreKey'];
  connection: DeviceConnection | undefined;
  logins = 0;
  /** Whether its client said that its user is looking. */
  available = false;
  /** It confirmed the first history of its phone. */
  introduced = false;
  /** The last device identity of this device that verified: it comes with every first message to a person. */
  verifiedIdentity: Buffer | undefined;

  constructor(place: DeviceOrigin, keys: DeviceKeys) {
    this.number = place.number;
    this.id = place.id;
    this.keyIndex = place.keyIndex;
    this.platform = place.platform;
    this.linkedAtMs = place.atMs;
    this.noiseKey = keys.noiseKey;
    this.identity = keys.identity;
    this.signedIdentity = keys.signedIdentity;
    this.registrationId = keys.registrationId;
    this.signedPreKey = keys.signedPreKey;
  }

  save(): DeviceState {
    const { number, id, keyIndex, platform, linkedAtMs, logins, introduced } = this;
    const { noiseKey, identity, registrationId, signedPreKey, signedIdentity } = this;
    return {
      place: { number, id, keyIndex, platform, atMs: linkedAtMs },
      keys: { noiseKey, identity, registrationId, signedPreKey, signedIdentity },
      logins,
      introduced,
      preKeys: this.preKeys.save(),
      waiting: this.mailbox.save(),
    };
  }

  static load(state: DeviceState): LinkedDevice {
    const device = new LinkedDevice(state.place, state.keys);
    device.logins = state.logins;
    device.introduced = state.introduced;
    device.preKeys.load(state.preKeys);
    for (const stanza of state.waiting) device.mailbox.post(stanza);
    return device;
  }

  /** Its public keys, with one one-time key used up. */
  takeBundle(): KeyBundle {
    const { registrationId, identity, signedPreKey, signedIdentity } = this;
    return { registrationId, identity, signedPreKey, preKey: this.preKeys.take(), signedIdentity };
  }
}
