import { createRequire } from 'node:module';
import { hkdf } from 'whatsapp-rust-bridge';

/** The function of libsignal's `crypto.js` that this replaces: HKDF-SHA256 (RFC 5869), `chunks` (1 to 3) pieces of 32 bytes. */
export type DeriveSecrets = (input: Uint8Array, salt: Uint8Array, info: Buffer, chunks?: number) => Buffer[];

const CHUNK_BYTES = 32;

/** In WASM, from the bridge that Baileys ships, three times faster than the four HMAC objects of libsignal, for each device of each message. */
const deriveSecrets: DeriveSecrets = (input, salt, info, chunks = 3) => {
  const { buffer, byteOffset } = hkdf(input, chunks * CHUNK_BYTES, { salt, info: info.toString() });
  return Array.from({ length: chunks }, (_, i) => Buffer.from(buffer, byteOffset + i * CHUNK_BYTES, CHUNK_BYTES));
};

// libsignal calls it through the module object, as it does its curve.
const requireLikeBaileys = createRequire(import.meta.resolve('@whiskeysockets/baileys'));
Object.assign(requireLikeBaileys('libsignal/src/crypto.js') as object, { deriveSecrets });
