import { createHash, createSecretKey } from 'node:crypto';
import { gcmDecrypt, gcmEncrypt, gcmSeal, hkdf } from '../crypto/ciphers.js';
import { agree, makeKeyPair } from '../crypto/curve.js';
import type { ServerCredentials } from './certificates.js';

/** A first contact; a client that knows the server's key; and one whose knowledge turned out to be outdated. */
const FIRST = startOf('Noise_XX_25519_AESGCM_SHA256');
const RESUME = startOf('Noise_IK_25519_AESGCM_SHA256');
const FALLBACK = startOf('Noise_XXfallback_25519_AESGCM_SHA256');
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

export interface ClientHello {
  readonly ephemeral: Uint8Array;
  /** Only of clients that know the server's static key: their own one and the payload, sealed. */
  readonly static?: Uint8Array | null | undefined;
  readonly payload?: Uint8Array | null | undefined;
}

export interface ServerHello {
  readonly ephemeral: Buffer;
  /** Missing when the client knew it. */
  readonly static?: Buffer;
  readonly payload: Buffer;
}

export interface HelloAnswer {
  readonly hello: ServerHello;
  /** Who it is, when the hello said so already: nothing more is to come. */
  readonly client?: ClientIdentity;
}

export interface ClientIdentity {
  /** The client's Noise static key: what a linked device authenticates with. */
  readonly staticKey: Buffer;
  readonly payload: Buffer;
  readonly transport: Transport;
}

/**
 * The server's half of the handshake. Used once: `answerHello`, then `finish` unless the hello was enough.
 * Order matters everywhere here: each step hashes what went over the wire before it.
 */
export class NoiseResponder {
  readonly #credentials: ServerCredentials;
  readonly #ephemeral = makeKeyPair();
  #hash: Buffer = FIRST;
  #salt: Buffer = FIRST;
  #key: Buffer = FIRST;
  #counter = 0;

  constructor(credentials: ServerCredentials) {
    this.#credentials = credentials;
  }

  answerHello(hello: ClientHello): HelloAnswer {
    if (!hello.static || !hello.payload) return { hello: this.#introduce(FIRST, hello.ephemeral) };
    const known = this.#recognize(hello.ephemeral, hello.static, hello.payload);
    if (!known) return { hello: this.#introduce(FALLBACK, hello.ephemeral) };
    this.#mixHash(this.#ephemeral.publicKey);
    this.#mixKey(agree(hello.ephemeral, this.#ephemeral.privateKey));
    this.#mixKey(agree(known.staticKey, this.#ephemeral.privateKey));
    const payload = this.#seal(this.#credentials.chain);
    return { hello: { ephemeral: this.#ephemeral.publicKey, payload }, client: { ...known, transport: this.#split() } };
  }

  /** Who the client is; undefined when it sealed its hello for another key than the server's. */
  #recognize(ephemeral: Uint8Array, sealedStatic: Uint8Array, sealedPayload: Uint8Array) {
    const { publicKey, privateKey } = this.#credentials.staticKey;
    this.#start(RESUME);
    this.#mixHash(publicKey);
    this.#mixHash(ephemeral);
    this.#mixKey(agree(ephemeral, privateKey));
    try {
      const staticKey = this.#open(sealedStatic);
      this.#mixKey(agree(staticKey, privateKey));
      return { staticKey, payload: this.#open(sealedPayload) };
    } catch {
      return undefined;
    }
  }

  #introduce(pattern: Buffer, clientEphemeral: Uint8Array): ServerHello {
    const { staticKey, chain } = this.#credentials;
    this.#start(pattern);
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
    return { staticKey, payload: this.#open(sealedPayload), transport: this.#split() };
  }

  #start(pattern: Buffer): void {
    this.#hash = pattern;
    this.#salt = pattern;
    this.#key = pattern;
    this.#counter = 0;
    this.#mixHash(PROLOGUE);
  }

  #split(): Transport {
    const keys = hkdf(Buffer.alloc(0), 64, { salt: this.#salt });
    return makeTransport(keys.subarray(32), keys.subarray(0, 32));
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

/** A name that is longer than a hash is hashed. */
function startOf(protocolName: string): Buffer {
  const name = Buffer.from(protocolName);
  return name.length > 32 ? createHash('sha256').update(name).digest() : Buffer.concat([name], 32);
}
