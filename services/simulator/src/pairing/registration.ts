import { proto } from '@whiskeysockets/baileys';
import type { DeviceKeys } from '../accounts/linked-device.js';
import { verify, withKeyType } from '../crypto/curve.js';

/** A client that wants to be linked: what its first payload says. */
export interface Registration {
  readonly keys: DeviceKeys;
  readonly platform: string;
  readonly pushName: string | undefined;
}

/** Reads and checks the payload; undefined when a key is missing or the signature of the pre-key does not verify. */
export function readRegistration(payload: proto.ClientPayload, noiseKey: Buffer): Registration | undefined {
  const data = payload.devicePairingData;
  if (!data?.eRegid || !data.eIdent || !data.eSkeyId || !data.eSkeyVal || !data.eSkeySig) return undefined;
  if (!verify(data.eIdent, withKeyType(data.eSkeyVal), data.eSkeySig)) return undefined;
  const signedPreKey = {
    keyId: Buffer.from(data.eSkeyId).readUIntBE(0, 3),
    publicKey: Buffer.from(data.eSkeyVal),
    signature: Buffer.from(data.eSkeySig),
  };
  const registrationId = Buffer.from(data.eRegid).readUInt32BE(0);
  return {
    keys: { noiseKey, identity: Buffer.from(data.eIdent), registrationId, signedPreKey },
    platform: platformOf(data.deviceProps),
    pushName: payload.pushName || undefined,
  };
}

function platformOf(deviceProps: Uint8Array | null | undefined): string {
  if (!deviceProps) return 'unknown';
  const { os, platformType } = proto.DeviceProps.decode(deviceProps);
  return `${proto.DeviceProps.PlatformType[platformType ?? 0] ?? 'UNKNOWN'} (${os ?? ''})`;
}
