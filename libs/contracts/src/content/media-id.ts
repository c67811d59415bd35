import { type DeviceAddress, shortDeviceId } from '../ids.js';

/** `med_` + 8 characters of the device + `_` + the id of the message (received-id.ts), in base64url. */
const MEDIA_ID = /^med_([0-9a-hjkmnp-tv-z]{8})_([A-Za-z0-9_-]{1,400})$/;

/** Computed: the file of the same message has the same id. */
export function makeMediaId(address: DeviceAddress, receivedId: string): string {
  return `med_${shortDeviceId(address)}_${Buffer.from(receivedId).toString('base64url')}`;
}

/** `undefined` for anything we never made. */
export function parseMediaId(id: string): { shortDeviceId: string; receivedId: string } | undefined {
  const match = MEDIA_ID.exec(id);
  return match ? { shortDeviceId: match[1]!, receivedId: Buffer.from(match[2]!, 'base64url').toString() } : undefined;
}
