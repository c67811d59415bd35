import type { Addressing } from '../directory/jids.js';
import type { CipherType } from '../phones/phone.js';

/** One encrypted form of a message: the node's type, its other attributes, its bytes. */
export interface SealedContent {
  readonly type: CipherType;
  readonly attrs: Record<string, string>;
  readonly bytes: Uint8Array;
}

export interface DevicePlace {
  readonly number: string;
  readonly device: number;
}

/** A message on its way to one device. */
export interface Envelope {
  readonly id: string;
  readonly sender: DevicePlace;
  readonly addressing: Addressing;
  /** The conversation as the sender addressed it: a person's jid or a group's. */
  readonly chat: string;
  readonly group?: string | undefined;
  /** Attributes that travel along: type, edit, category. */
  readonly attrs: Record<string, string>;
  readonly pushName: string;
  readonly contents: readonly SealedContent[];
  /** Proof that the sender's device belongs to its account: comes with the first message of a session. */
  readonly deviceIdentity?: Uint8Array | undefined;
  /** It is for phones alone: to a linked device goes the mark that it is missing, with these attributes, in place of the contents. */
  readonly missing?: Record<string, string> | undefined;
  /** It does not say to which number it is: the recipient's phone shows it in a chat with an unknown user. */
  readonly unknownUser?: boolean;
  readonly atMs: number;
}
