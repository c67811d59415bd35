/**
 * Where a session keeps its keys. Implemented above this library on Redis; values arrive and leave as plain bytes,
 * encryption at rest is the port's business.
 */
export interface KeyStorePort {
  /** The credentials as they were last committed, or `undefined` when the device was never linked. Throws when they cannot be read. */
  readCreds(): Promise<string | undefined>;
  /** Values of those ids that exist. Throws when any of them cannot be read: an unreadable key is not an absent one. */
  read(type: string, ids: readonly string[]): Promise<Map<string, Uint8Array>>;
  /** One atomic write, refused as a whole with `FencedError` when the ownership is gone. */
  commit(changes: KeyChanges): Promise<void>;
}

export interface KeyChanges {
  creds?: string;
  keys?: { type: string; id: string; value: Uint8Array | null }[];
  /** Ids to add to the contact index; the library rewrites its whole index, the adapter passes on what is new. */
  contacts?: string[];
}
