import { LRUCache } from 'lru-cache';
import type { KeyPair, SignedPreKey } from 'whatsapp-rust-bridge';
import { type CurveKeyPair, keyPairOf, sign, withKeyType } from '../crypto/curve.js';
import type { Seed } from '../crypto/seed.js';

/** A phone's long-lived Signal keys. */
export interface PhoneKeys {
  readonly identity: CurveKeyPair;
  readonly registrationId: number;
  readonly signedPreKey: { readonly keyId: number; readonly keyPair: CurveKeyPair; readonly signature: Buffer };
  /** The same, as the Signal bridge wants them. */
  readonly forBridge: { readonly identity: KeyPair; readonly signedPreKey: SignedPreKey };
}

export function bridgePair(pair: CurveKeyPair): KeyPair {
  return { pubKey: withKeyType(pair.publicKey), privKey: pair.privateKey };
}

export interface KeyringState {
  readonly generations: ReadonlyMap<string, number>;
  readonly lastPreKeyId: number;
}

const SIGNED_PRE_KEY_ID = 1;
const LARGEST_PRE_KEY_ID = 0xffffff;
/** About 1 kB each: enough for the people in play, whatever the number of numbers. */
const CACHED_PHONES = 5_000;
/** Handed out and perhaps about to be used: the rest is made anew. */
const CACHED_PRE_KEYS = 1_000;

/**
 * Makes the keys of any phone out of the seed when they are asked for, so that a phone without messages costs nothing.
 * A phone that was set up anew (`generation`) has other keys.
 */
export class PhoneKeyring {
  readonly #seed: Seed;
  readonly #cache = new LRUCache<string, PhoneKeys>({ max: CACHED_PHONES });
  readonly #preKeys = new LRUCache<string, CurveKeyPair>({ max: CACHED_PRE_KEYS });
  readonly #generations = new Map<string, number>();
  #lastPreKeyId = 0;

  constructor(seed: Seed) {
    this.#seed = seed;
  }

  keysOf(number: string): PhoneKeys {
    const cached = this.#cache.get(number);
    if (cached) return cached;
    return this.#makeKeys(number);
  }

  #makeKeys(number: string): PhoneKeys {
    const label = this.#labelOf(number);
    const identity = keyPairOf(this.#seed.derive(`${label}/identity`));
    const keyPair = keyPairOf(this.#seed.derive(`${label}/signed-pre-key`));
    const registrationId = 1 + (this.#seed.derive(`${label}/registration`).readUInt16BE(0) & 0x3fff);
    const signature = sign(identity.privateKey, withKeyType(keyPair.publicKey));
    const signedPreKey = { keyId: SIGNED_PRE_KEY_ID, keyPair, signature };
    const forBridge = {
      identity: bridgePair(identity),
      signedPreKey: { keyId: SIGNED_PRE_KEY_ID, keyPair: bridgePair(keyPair), signature },
    };
    const keys = { identity, registrationId, signedPreKey, forBridge };
    this.#cache.set(number, keys);
    return keys;
  }

  /** A one-time pre-key id that was not handed out before. */
  nextPreKeyId(): number {
    this.#lastPreKeyId = (this.#lastPreKeyId % LARGEST_PRE_KEY_ID) + 1;
    return this.#lastPreKeyId;
  }

  preKeyOf(number: string, keyId: number): CurveKeyPair {
    const label = `${this.#labelOf(number)}/pre-key/${keyId}`;
    const cached = this.#preKeys.get(label);
    if (cached) return cached;
    const pair = keyPairOf(this.#seed.derive(label));
    this.#preKeys.set(label, pair);
    return pair;
  }

  /** The phone was reinstalled: from now on its identity is another one. */
  reinstall(number: string): void {
    this.#generations.set(number, (this.#generations.get(number) ?? 0) + 1);
    this.#cache.delete(number);
  }

  save(): KeyringState {
    return { generations: this.#generations, lastPreKeyId: this.#lastPreKeyId };
  }

  load({ generations, lastPreKeyId }: KeyringState): void {
    for (const [number, generation] of generations) this.#generations.set(number, generation);
    this.#lastPreKeyId = lastPreKeyId;
  }

  #labelOf(number: string): string {
    return `phone/${number}/${this.#generations.get(number) ?? 0}`;
  }
}
