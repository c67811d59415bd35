import { proto } from '@whiskeysockets/baileys';
import type { LinkedDevice } from '../accounts/linked-device.js';
import { verify } from '../crypto/curve.js';

const ACCOUNT_SIGNATURE_PREFIX = Buffer.from([6, 0]);
const DEVICE_SIGNATURE_PREFIX = Buffer.from([6, 1]);

/** The account vouched for the device's identity key. */
export function accountSignatureFits(
  details: Uint8Array,
  deviceIdentity: Uint8Array,
  by: Uint8Array,
  signature: Uint8Array,
): boolean {
  return verify(by, Buffer.concat([ACCOUNT_SIGNATURE_PREFIX, details, deviceIdentity]), signature);
}

/** The device accepted the account. */
export function deviceSignatureFits(
  details: Uint8Array,
  deviceIdentity: Uint8Array,
  account: Uint8Array,
  signature: Uint8Array,
): boolean {
  return verify(deviceIdentity, Buffer.concat([DEVICE_SIGNATURE_PREFIX, details, deviceIdentity, account]), signature);
}

/**
 * What a phone checks before it opens a session with a linked device of another account: both signatures, with the real identity
 * keys of the account and the device. Bytes that verified are remembered on the device, so that they are verified once.
 */
export function verifyDeviceIdentity(
  device: LinkedDevice,
  accountIdentity: Uint8Array,
  bytes: Uint8Array | undefined,
): boolean {
  if (!bytes) return false;
  const { details, accountSignature, accountSignatureKey, deviceSignature } =
    proto.ADVSignedDeviceIdentity.decode(bytes);
  if (!details || !accountSignature || !deviceSignature || !accountSignatureKey) return false;
  const fits =
    Buffer.compare(accountSignatureKey, accountIdentity) === 0 &&
    accountSignatureFits(details, device.identity, accountIdentity, accountSignature) &&
    deviceSignatureFits(details, device.identity, accountIdentity, deviceSignature);
  if (fits) device.verifiedIdentity = Buffer.from(bytes);
  return fits;
}
