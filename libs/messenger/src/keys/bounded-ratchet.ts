import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { createRequire } from 'node:module';

/** The parts of libsignal's `session_cipher.js` and `session_record.js` that this replaces, and what they work on. */
interface Chain {
  chainKey: { counter: number; key?: Buffer };
  messageKeys: Record<number, Buffer>;
}
interface SessionEntry {
  indexInfo: { used: number };
  serialize(): object;
  constructor: { deserialize(data: object): SessionEntry };
}
interface SessionCipher {
  fillMessageKeys(chain: Chain, counter: number): void;
  decryptWithSessions(
    data: Buffer,
    sessions: readonly SessionEntry[],
  ): Promise<{ session: SessionEntry; plaintext: Buffer }>;
  doDecryptWhisperMessage(data: Buffer, session: SessionEntry): Promise<Buffer>;
}
interface LibSignal {
  SessionCipher: { prototype: SessionCipher };
  SessionError: new (message: string) => Error;
}

/** As every client: so many messages of a chain may be missing before one that comes. */
const MOST_MISSING = 2_000;
/**
 * Steps of chains that one message may cost, whatever the number of sessions with its writer: two chains of one session.
 * That is 20 to 80 ms of CPU.
 */
const MOST_STEPS = 2 * MOST_MISSING;

const requireLikeBaileys = createRequire(import.meta.resolve('@whiskeysockets/baileys'));
const { SessionCipher, SessionError } = requireLikeBaileys('libsignal') as LibSignal;
/** The library makes one cipher for each message. */
const stepsOf = new WeakMap<SessionCipher, number>();

/**
 * libsignal tries a message with each of up to 41 sessions of its writer, and winds two chains of each forward by up to
 * 2,000 keys, before it knows whether the message is genuine: a forged one stopped the process for three seconds. What
 * failed attempts did to their sessions stayed with them and was stored, once a later session could read the message:
 * thousands of keys, and chains that were closed permanently.
 *
 * Here all attempts for one message share one bound, and each works on a copy that takes the place of its session when the
 * message is genuine.
 */
Object.assign(SessionCipher.prototype, {
  fillMessageKeys(chain, counter) {
    const missing = counter - chain.chainKey.counter;
    if (missing <= 0) return;
    const steps = (stepsOf.get(this) ?? 0) + missing;
    if (missing > MOST_MISSING || steps > MOST_STEPS) throw new SessionError('Too many messages into the future!');
    stepsOf.set(this, steps);
    for (let step = 0; step < missing; step += 1) {
      const { key } = chain.chainKey;
      if (key === undefined) throw new SessionError('Chain closed');
      chain.chainKey.counter += 1;
      // Node.js 24 takes four times as long with a buffer.
      const secret = createSecretKey(key);
      chain.messageKeys[chain.chainKey.counter] = hmac(secret, 1);
      chain.chainKey.key = hmac(secret, 2);
    }
  },

  async decryptWithSessions(data, sessions) {
    let failure: unknown;
    for (const session of sessions) {
      const attempt = session.constructor.deserialize(session.serialize());
      try {
        const plaintext = await this.doDecryptWhisperMessage(data, attempt);
        attempt.indexInfo.used = Date.now();
        become(session, attempt);
        return { session, plaintext };
      } catch (error) {
        failure = error;
      }
    }
    throw Object.assign(new SessionError('No matching sessions found for message'), { cause: failure });
  },
} satisfies Partial<SessionCipher> & ThisType<SessionCipher>);

function hmac(key: KeyObject, byte: number): Buffer {
  return createHmac('sha256', key).update(Buffer.of(byte)).digest();
}

/** The record keeps its session object. Fields may have been removed. */
function become(session: object, attempt: object): void {
  for (const field of Object.keys(session)) delete (session as Record<string, unknown>)[field];
  Object.assign(session, attempt);
}
