import { proto } from '@whiskeysockets/baileys';
import { type CurveKeyPair, keyPairOf, sign } from '../crypto/curve.js';
import type { Seed } from '../crypto/seed.js';

/** What the server proves itself with in the Noise handshake. */
export interface ServerCredentials {
  /** The pair whose public half the leaf certificate carries. */
  readonly staticKey: CurveKeyPair;
  /** Encoded CertChain: leaf and intermediate, signed down from the root. */
  readonly chain: Uint8Array;
  /** What clients must trust: 32 bytes. */
  readonly rootPublicKey: Buffer;
}

/** Clients compare the intermediate's issuer serial with the serial of the root they know. */
const ROOT_SERIAL = 0;
const INTERMEDIATE_SERIAL = 1;
const LEAF_SERIAL = 2;
const YEAR_SECONDS = 365 * 24 * 3600;

/** Makes root, intermediate and leaf; valid from a day ago for a year, the same keys for the same seed. */
export function makeServerCredentials(seed: Seed, nowMs: number): ServerCredentials {
  const root = keyPairOf(seed.derive('certificate/root'));
  const intermediate = keyPairOf(seed.derive('certificate/intermediate'));
  const staticKey = keyPairOf(seed.derive('certificate/leaf'));
  const notBefore = Math.floor(nowMs / 1000) - 24 * 3600;
  const certify = (issuer: CurveKeyPair, issuerSerial: number, serial: number, key: Buffer) => {
    const details = proto.CertChain.NoiseCertificate.Details.encode({
      serial,
      issuerSerial,
      key,
      notBefore,
      notAfter: notBefore + YEAR_SECONDS,
    }).finish();
    return { details, signature: sign(issuer.privateKey, details) };
  };
  const chain = proto.CertChain.encode({
    leaf: certify(intermediate, INTERMEDIATE_SERIAL, LEAF_SERIAL, staticKey.publicKey),
    intermediate: certify(root, ROOT_SERIAL, INTERMEDIATE_SERIAL, intermediate.publicKey),
  }).finish();
  return { staticKey, chain, rootPublicKey: root.publicKey };
}
