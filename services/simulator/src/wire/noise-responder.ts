import { createHash, createSecretKey } from 'node:crypto';
import { gcmDecrypt, gcmEncrypt, gcmSeal, hkdf } from '../crypto/ciphers.js';
import { agree, makeKeyPair } from '../crypto/curve.js';
import type { ServerCredentials } from './certificates.js';

const PROTOCOL_NAME = Buffer.from('Noise_XX_25519_AESGCM_SHA256\0\0\0\0');
/** 'W' 'A', the protocol's major version, the dictionary version. */
export const PROLOGUE = Buffer.from([0x57, 0x41, 6, 3]);

/** Encrypted bytes and their tag, which follows them on the wire. */
export interface Sealed {
  readonly body: Buffer;
  readonly tag: Buffer;
}

/** The symmetric keys of an established connection: one counter a direction. */
export interface Transport {
  seal(plaintext: Uint8Array): Sealed;
  open(sealed: Uint8Array): Buffer;
}

export interface ServerHello {
  readonly ephemeral: Buffer;
  readonly static: Buffer;
  readonly payload: Buffer;
}

export interface ClientIdentity {
  /** The client's Noise static key: what a linked device authenticates with. */
  readonly staticKey: Buffer;
  readonly payload: Buffer;
  readonly transport: Transport;
}

/**
 * The server's half of Noise XX. Used once: `answerHello`, then `finish`.
 * Order matters everywhere here: each step hashes what went over the wire before it.
 */
export class NoiseResponder {
  readonly #credentials: ServerCredentials;
  readonly #ephemeral = makeKeyPair();
  #hash: Buffer = PROTOCOL_NAME;
  #salt: Buffer = PROTOCOL_NAME;
  #key: Buffer = PROTOCOL_NAME;
  #counter = 0;

  constructor(credentials: ServerCredentials) {
    this.#credentials = credentials;
    this.#mixHash(PROLOGUE);
  }

  answerHello(clientEphemeral: Uint8Array): ServerHello {
    const { staticKey, chain } = this.#credentials;
    this.#mixHash(clientEphemeral);
    this.#mixHash(this.#ephemeral.publicKey);
    this.#mixKey(agree(clientEphemeral, this.#ephemeral.privateKey));
    const sealedStatic = this.#seal(staticKey.publicKey);
    this.#mixKey(agree(clientEphemeral, staticKey.privateKey));
    return { ephemeral: this.#ephemeral.publicKey, static: sealedStatic, payload: this.#seal(chain) };
  }

  /** Throws when the client's keys or tags do not fit. */
  finish(sealedStatic: Uint8Array, sealedPayload: Uint8Array): ClientIdentity {
    const staticKey = this.#open(sealedStatic);
    this.#mixKey(agree(staticKey, this.#ephemeral.privateKey));
    const payload = this.#open(sealedPayload);
    const keys = hkdf(Buffer.alloc(0), 64, { salt: this.#salt });
    return { staticKey, payload, transport: makeTransport(keys.subarray(32), keys.subarray(0, 32)) };
  }

  #mixHash(data: Uint8Array): void {
    this.#hash = createHash('sha256').update(this.#hash).update(data).digest();
  }

  #mixKey(secret: Uint8Array): void {
    const keys = hkdf(secret, 64, { salt: this.#salt });
    this.#salt = keys.subarray(0, 32);
    this.#key = keys.subarray(32);
    this.#counter = 0;
  }

  #seal(plaintext: Uint8Array): Buffer {
    const sealed = gcmEncrypt(this.#key, ivOf(this.#counter++), plaintext, this.#hash);
    this.#mixHash(sealed);
    return sealed;
  }

  #open(sealed: Uint8Array): Buffer {
    const plaintext = gcmDecrypt(this.#key, ivOf(this.#counter++), sealed, this.#hash);
    this.#mixHash(sealed);
    return plaintext;
  }
}

function makeTransport(sealKey: Buffer, openKey: Buffer): Transport {
  const sealing = { key: createSecretKey(sealKey), iv: ivOf(0) };
  const opening = { key: createSecretKey(openKey), iv: ivOf(0) };
  let sealed = 0;
  let opened = 0;
  return {
    seal: (plaintext) => {
      sealing.iv.writeUInt32BE(sealed++, 8);
      return gcmSeal(sealing.key, sealing.iv, plaintext);
    },
    open: (data) => {
      opening.iv.writeUInt32BE(opened++, 8);
      return gcmDecrypt(opening.key, opening.iv, data);
    },
  };
}

function ivOf(counter: number): Buffer {
  const iv = Buffer.alloc(12);
  iv.writeUInt32BE(counter, 8);
  return iv;
}
