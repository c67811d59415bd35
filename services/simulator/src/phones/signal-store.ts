import type { KeyPair, SessionRecord, SignalStorage, SignedPreKey } from 'whatsapp-rust-bridge';
import { bridgePair, type PhoneKeyring, type PhoneKeys } from './phone-keys.js';

export interface SignalState {
  readonly sessions: ReadonlyMap<string, Uint8Array>;
  readonly usedPreKeys: ReadonlySet<number> | undefined;
  readonly senderKeys: ReadonlyMap<string, Uint8Array> | undefined;
}

/** What the Signal bridge reads and writes for one phone. Sessions are a few hundred bytes each. */
export class SignalStore implements SignalStorage {
  readonly #number: string;
  readonly #keyring: PhoneKeyring;
  readonly #sessions = new Map<string, Uint8Array>();
  #usedPreKeys: Set<number> | undefined;
  #senderKeys: Map<string, Uint8Array> | undefined;

  constructor(number: string, keyring: PhoneKeyring) {
    this.#number = number;
    this.#keyring = keyring;
  }

  get keys(): PhoneKeys {
    return this.#keyring.keysOf(this.#number);
  }

  loadSession(address: string): Uint8Array | undefined {
    return this.#sessions.get(address);
  }

  storeSession(address: string, record: SessionRecord): void {
    this.#sessions.set(address, record.serialize());
  }

  save(): SignalState {
    return { sessions: this.#sessions, usedPreKeys: this.#usedPreKeys, senderKeys: this.#senderKeys };
  }

  load({ sessions, usedPreKeys, senderKeys }: SignalState): void {
    for (const [address, record] of sessions) this.#sessions.set(address, record);
    this.#usedPreKeys = usedPreKeys && new Set(usedPreKeys);
    this.#senderKeys = senderKeys && new Map(senderKeys);
  }

  forgetSession(address: string): void {
    this.#sessions.delete(address);
  }

  getOurIdentity(): KeyPair {
    return this.keys.forBridge.identity;
  }

  getOurRegistrationId(): number {
    return this.keys.registrationId;
  }

  /** The network trusts a first identity and follows a change: the phone shows a notice, it does not refuse. */
  isTrustedIdentity(): boolean {
    return true;
  }

  /** A one-time key works once: a second use finds nothing. */
  loadPreKey(keyId: number): KeyPair | undefined {
    return this.#usedPreKeys?.has(keyId) ? undefined : bridgePair(this.#keyring.preKeyOf(this.#number, keyId));
  }

  removePreKey(keyId: number): void {
    this.#usedPreKeys ??= new Set();
    this.#usedPreKeys.add(keyId);
  }

  loadSignedPreKey(keyId: number): SignedPreKey | undefined {
    const { signedPreKey } = this.keys.forBridge;
    return keyId === signedPreKey.keyId ? signedPreKey : undefined;
  }

  loadSenderKey(name: string): Uint8Array | undefined {
    return this.#senderKeys?.get(name);
  }

  storeSenderKey(name: string, record: Uint8Array): void {
    this.#senderKeys ??= new Map();
    this.#senderKeys.set(name, Uint8Array.from(record));
  }
}
