import { proto } from '@whiskeysockets/baileys';
import { hmacSha256 } from '../crypto/ciphers.js';
import { sign } from '../crypto/curve.js';
import { accountSignatureFits, deviceSignatureFits } from '../messaging/verify-device-identity.js';
import type { PhoneKeys } from '../phones/phone-keys.js';

const ACCOUNT_SIGNATURE_PREFIX = Buffer.from([6, 0]);

export interface DeviceClaim {
  readonly rawId: number;
  readonly keyIndex: number;
  /** The identity key of the client that is being linked. */
  readonly identity: Buffer;
  readonly atMs: number;
}

/** What the phone vouches for, in the form that the client gets and in the parts that its answer is checked against. */
export interface SignedDevice {
  readonly details: Uint8Array;
  readonly accountKey: Buffer;
  /** Encoded ADVSignedDeviceIdentityHMAC. */
  readonly sealed: Uint8Array;
}

/** The phone signs the client's identity and seals it with the secret that only code and client know. */
export function signDevice(phone: PhoneKeys, claim: DeviceClaim, advSecret: Uint8Array): SignedDevice {
  const E2EE = proto.ADVEncryptionType.E2EE;
  const details = proto.ADVDeviceIdentity.encode({
    rawId: claim.rawId,
    timestamp: Math.floor(claim.atMs / 1000),
    keyIndex: claim.keyIndex,
    accountType: E2EE,
    deviceType: E2EE,
  }).finish();
  const accountKey = phone.identity.publicKey;
  const signed = Buffer.concat([ACCOUNT_SIGNATURE_PREFIX, details, claim.identity]);
  const identity = proto.ADVSignedDeviceIdentity.encode({
    details,
    accountSignatureKey: accountKey,
    accountSignature: sign(phone.identity.privateKey, signed),
  }).finish();
  const sealed = proto.ADVSignedDeviceIdentityHMAC.encode({
    details: identity,
    hmac: hmacSha256(advSecret, identity),
  }).finish();
  return { details, accountKey, sealed };
}

/** Does the client's answer carry both signatures, over exactly what the phone vouched for? */
export function deviceAccepts(signed: SignedDevice, identity: Buffer, answer: Uint8Array): boolean {
  const { details, accountSignature, deviceSignature } = proto.ADVSignedDeviceIdentity.decode(answer);
  if (!details || !accountSignature || !deviceSignature) return false;
  return (
    Buffer.compare(details, signed.details) === 0 &&
    accountSignatureFits(details, identity, signed.accountKey, accountSignature) &&
    deviceSignatureFits(details, identity, signed.accountKey, deviceSignature)
  );
}
