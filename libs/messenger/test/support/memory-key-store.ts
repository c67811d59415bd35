import type { KeyChanges, KeyStorePort } from '@gateway/messenger/keys/key-store-port';

/** A key store in memory, with the faults that a real one has. */
export class MemoryKeyStore implements KeyStorePort {
  creds: string | undefined;
  readonly keys = new Map<string, Uint8Array>();
  readonly contacts = new Set<string>();
  readonly commits: KeyChanges[] = [];
  readonly reads: { type: string; ids: readonly string[] }[] = [];
  /** Throws or rejects to make a read fail. */
  beforeRead: (type: string, ids: readonly string[]) => void | Promise<void> = () => {};
  /** Throws or rejects to make a commit fail. */
  beforeCommit: (changes: KeyChanges) => void | Promise<void> = () => {};

  async readCreds(): Promise<string | undefined> {
    await this.beforeRead('creds', []);
    return this.creds;
  }

  async read(type: string, ids: readonly string[]): Promise<Map<string, Uint8Array>> {
    this.reads.push({ type, ids });
    await this.beforeRead(type, ids);
    const found = new Map<string, Uint8Array>();
    for (const id of ids) {
      const value = this.keys.get(`${type}/${id}`);
      if (value) found.set(id, value);
    }
    return found;
  }

  async commit(changes: KeyChanges): Promise<void> {
    await this.beforeCommit(changes);
    this.commits.push(changes);
    if (changes.creds !== undefined) this.creds = changes.creds;
    for (const { type, id, value } of changes.keys ?? []) {
      if (value === null) this.keys.delete(`${type}/${id}`);
      else this.keys.set(`${type}/${id}`, value);
    }
    for (const contact of changes.contacts ?? []) this.contacts.add(contact);
  }

  async readContactIndex(): Promise<string[]> {
    return [...this.contacts];
  }

  /** A store with the same keys: what the device is linked with, for a session of its own. */
  copy(): MemoryKeyStore {
    const copy = new MemoryKeyStore();
    copy.creds = this.creds;
    for (const [id, value] of this.keys) copy.keys.set(id, value);
    for (const contact of this.contacts) copy.contacts.add(contact);
    return copy;
  }
}
