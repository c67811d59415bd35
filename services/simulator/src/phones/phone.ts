import { proto } from '@whiskeysockets/baileys';
import {
  GroupCipher,
  GroupSessionBuilder,
  type ProtocolAddress,
  SenderKeyDistributionMessage,
  SenderKeyName,
  SessionBuilder,
  SessionCipher,
} from 'whatsapp-rust-bridge';
import { withKeyType } from '../crypto/curve.js';
import { Inbox } from './inbox.js';
import type { KeyBundle } from './key-bundle.js';
import type { PhoneKeyring } from './phone-keys.js';
import { signalAddress } from './signal-address.js';
import { SignalStore } from './signal-store.js';

export type CipherType = 'pkmsg' | 'msg' | 'skmsg';

export interface Ciphertext {
  readonly type: 'pkmsg' | 'msg';
  readonly bytes: Uint8Array;
}

/** What a phone remembers of a message that a client of its account sent. */
interface SentMessage {
  readonly id: string;
  /** Number of the person, or jid of the group. */
  readonly chat: string;
  readonly from: string;
  readonly text: string | null;
  readonly atMs: number;
}

const MOST_SENT = 250;

/**
 * One person's phone: a Signal identity, the sessions with those who wrote to it, and what it has shown.
 * Work on a phone happens one step at a time, in order of arrival: a ratchet cannot be turned by two at once.
 */
export class Phone {
  readonly number: string;
  readonly inbox = new Inbox();
  readonly signal: SignalStore;
  /** Messages of its account's linked clients that it took over into its conversations. */
  ownCopies = 0;
  /** The latest of them. */
  sent: SentMessage[] = [];
  #work: Promise<unknown> | undefined;

  constructor(number: string, keyring: PhoneKeyring) {
    this.number = number;
    this.signal = new SignalStore(number, keyring);
  }

  remember(message: SentMessage): void {
    this.sent.push(message);
    if (this.sent.length > 2 * MOST_SENT) this.sent = this.sent.slice(-MOST_SENT);
  }

  /** Runs a step after those before it, whether they succeeded or not. */
  inTurn<T>(step: () => Promise<T>): Promise<T> {
    const turn = (this.#work ?? Promise.resolve()).then(step, step);
    this.#work = turn;
    return turn;
  }

  /** Decrypts and parses. Throws when a key was used before, a signature or a padding is wrong, a session is missing. */
  async decrypt(from: string, device: number, { type, bytes }: Ciphertext): Promise<proto.Message> {
    const cipher = new SessionCipher(this.signal, signalAddress(from, device));
    try {
      const padded =
        type === 'pkmsg' ? await cipher.decryptPreKeyWhisperMessage(bytes) : await cipher.decryptWhisperMessage(bytes);
      return proto.Message.decode(unpad(padded));
    } finally {
      cipher.free();
    }
  }

  /** Decrypts what a member sent to a group. Throws like `decrypt`. */
  async decryptGroup(group: string, from: string, device: number, bytes: Uint8Array): Promise<proto.Message> {
    const cipher = new GroupCipher(this.signal, group, signalAddress(from, device));
    try {
      return proto.Message.decode(unpad(await cipher.decrypt(bytes)));
    } finally {
      cipher.free();
    }
  }

  /** Takes over the key with which a member will write to a group. */
  async learnSenderKey(group: string, from: string, device: number, bytes: Uint8Array): Promise<void> {
    const builder = new GroupSessionBuilder(this.signal);
    const name = new SenderKeyName(group, signalAddress(from, device));
    await builder.process(name, SenderKeyDistributionMessage.deserialize(bytes));
    builder.free();
  }

  /** Encrypts for one device; opens the session from `bundle` when there is none (or when it must be a new one). */
  async encrypt(to: string, device: number, message: proto.IMessage, bundle?: () => KeyBundle): Promise<Ciphertext> {
    const address = signalAddress(to, device);
    if (bundle && !this.signal.loadSession(address.toString())) await this.#openSession(address, bundle());
    const cipher = new SessionCipher(this.signal, address);
    try {
      const { type, body } = await cipher.encrypt(pad(proto.Message.encode(message).finish()));
      return { type: type === 3 ? 'pkmsg' : 'msg', bytes: body };
    } finally {
      cipher.free();
    }
  }

  /** Drops the session with a device: the next message to it opens a new one. */
  forgetSession(number: string, device: number): void {
    this.signal.forgetSession(signalAddress(number, device).toString());
  }

  async #openSession(address: ProtocolAddress, bundle: KeyBundle): Promise<void> {
    const builder = new SessionBuilder(this.signal, address);
    const { preKey, signedPreKey } = bundle;
    await builder.processPreKeyBundle({
      registrationId: bundle.registrationId,
      identityKey: withKeyType(bundle.identity),
      preKey: preKey && { keyId: preKey.keyId, publicKey: withKeyType(preKey.publicKey) },
      signedPreKey: { ...signedPreKey, publicKey: withKeyType(signedPreKey.publicKey) },
    });
    builder.free();
  }
}

/** The last byte says how many bytes of padding there are, 1 to 16, and every one of them must say the same. */
function unpad(padded: Uint8Array): Uint8Array {
  const length = padded.at(-1) ?? 0;
  if (length < 1 || length > 16 || length > padded.length) throw new Error('wrong padding');
  const end = padded.length - length;
  for (let index = end; index < padded.length; index += 1) {
    if (padded[index] !== length) throw new Error('wrong padding');
  }
  return padded.subarray(0, end);
}

function pad(message: Uint8Array): Uint8Array {
  const length = 1 + Math.floor(Math.random() * 16);
  return Buffer.concat([message, Buffer.alloc(length, length)]);
}
