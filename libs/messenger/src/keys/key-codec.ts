import { BufferJSON, proto, type SignalDataSet } from '../socket/baileys.js';

/** How keys and credentials are stored: JSON, in which the library's own replacer writes bytes as base64. */
export function encodeKey(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value, BufferJSON.replacer));
}

/** The same of a record of sessions, which libsignal has written without bytes: one is stored with each message. */
export function encodeSession(record: object | string): Buffer {
  return Buffer.from(JSON.stringify(record));
}

/** Throws on anything that `encodeKey` did not write. */
export function decodeKey(type: keyof SignalDataSet, bytes: Uint8Array): object | string {
  const value = JSON.parse(Buffer.from(bytes).toString(), BufferJSON.reviver) as object | string;
  return type === 'app-state-sync-key' ? proto.Message.AppStateSyncKeyData.fromObject(value as object) : value;
}
