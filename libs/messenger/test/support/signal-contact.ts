import { createHmac, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { type AuthenticationCreds, generateSignalPubKey, initAuthCreds } from '@whiskeysockets/baileys';

interface Chain {
  chainKey: { counter: number; key?: Buffer };
}
interface Entry {
  currentRatchet: { ephemeralKeyPair: { pubKey: Buffer } };
  getChain(key: Buffer): Chain;
}
interface Record {
  getOpenSession(): Entry;
  serialize(): object;
}
interface Cipher {
  encrypt(data: Buffer): Promise<{ type: number; body: string | Uint8Array }>;
  decryptWhisperMessage(data: Buffer): Promise<Buffer>;
  decryptPreKeyWhisperMessage(data: Buffer): Promise<Buffer>;
}
interface LibSignal {
  ProtocolAddress: new (name: string, device: number) => object;
  SessionCipher: new (storage: object, address: object) => Cipher;
  SessionBuilder: new (storage: object, address: object) => { initOutgoing(bundle: object): Promise<void> };
}

const requireLikeBaileys = createRequire(import.meta.resolve('@whiskeysockets/baileys'));
const signal = requireLikeBaileys('libsignal') as LibSignal;

const { WhisperMessage } = requireLikeBaileys('libsignal/src/protobufs.js') as {
  WhisperMessage: { encode(message: object): { finish(): Uint8Array } };
};

/** A message that no session has made, as if the chains of any had been skipped so far. */
export function forgedMessage({ skip }: { skip: number }): Sealed {
  const ephemeralKey = Buffer.concat([Buffer.of(5), randomBytes(32)]);
  const message = { ephemeralKey, counter: skip, previousCounter: skip, ciphertext: randomBytes(64) };
  const ciphertext = Buffer.concat([Buffer.of(0x33), WhisperMessage.encode(message).finish(), randomBytes(8)]);
  return { type: 'msg', ciphertext };
}

export interface Sealed {
  type: 'pkmsg' | 'msg';
  ciphertext: Buffer;
}

/** A contact with a Signal library in its own hands: it may do with its chains what it likes. */
export class SignalContact {
  readonly #creds = initAuthCreds();
  readonly #us: AuthenticationCreds;
  readonly #address = new signal.ProtocolAddress('us', 0);
  #record: Record | undefined;

  /** @param us the account that it writes to. */
  constructor(us: AuthenticationCreds) {
    this.#us = us;
  }

  /** Makes a session again, in place of the one it has, from the keys that the network hands out. */
  async meet(): Promise<void> {
    this.#record = undefined;
    const { signedIdentityKey, signedPreKey, registrationId } = this.#us;
    await new signal.SessionBuilder(this.#storage, this.#address).initOutgoing({
      ...{ registrationId, identityKey: publicOf(signedIdentityKey) },
      signedPreKey: {
        keyId: signedPreKey.keyId,
        publicKey: publicOf(signedPreKey.keyPair),
        signature: Buffer.from(signedPreKey.signature),
      },
    });
  }

  /** Its session as it is now, to come back to. */
  get session(): unknown {
    return this.#record;
  }

  set session(record: unknown) {
    this.#record = record as Record;
  }

  /** @param skip so many messages it seems to have written before, and never sent. */
  async write(text: string, { skip = 0 } = {}): Promise<Sealed> {
    const session = this.#record!.getOpenSession();
    const { chainKey } = session.getChain(session.currentRatchet.ephemeralKeyPair.pubKey);
    for (let each = 0; each < skip; each += 1) {
      chainKey.key = createHmac('sha256', chainKey.key!).update(Buffer.of(2)).digest();
      chainKey.counter += 1;
    }
    const { type, body } = await this.#cipher.encrypt(Buffer.from(text));
    return { type: type === 3 ? 'pkmsg' : 'msg', ciphertext: Buffer.from(body as Uint8Array) };
  }

  async read({ type, ciphertext }: Sealed): Promise<string> {
    const cipher = this.#cipher;
    const plain =
      type === 'pkmsg' ? cipher.decryptPreKeyWhisperMessage(ciphertext) : cipher.decryptWhisperMessage(ciphertext);
    return (await plain).toString();
  }

  get #cipher(): Cipher {
    return new signal.SessionCipher(this.#storage, this.#address);
  }

  get #storage() {
    const { signedIdentityKey, registrationId } = this.#creds;
    return {
      loadSession: async () => this.#record,
      storeSession: async (_: string, record: Record) => {
        this.#record = record;
      },
      isTrustedIdentity: async () => true,
      getOurIdentity: async () => ({
        privKey: Buffer.from(signedIdentityKey.private),
        pubKey: publicOf(signedIdentityKey),
      }),
      getOurRegistrationId: async () => registrationId,
    };
  }
}

function publicOf(pair: { public: Uint8Array }): Buffer {
  return Buffer.from(generateSignalPubKey(pair.public));
}
