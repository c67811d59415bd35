const ENTRY_BYTES = 3 + 32;

interface PreKey {
  readonly keyId: number;
  readonly publicKey: Buffer;
}

/**
 * One-time pre-keys that a linked device uploaded, handed out in order, each once. Packed into one buffer: a stock of
 * 812 takes 28 kB, and a thousand linked devices must fit into memory.
 */
export class PreKeyStock {
  #bytes: Buffer = Buffer.alloc(0);

  get count(): number {
    return this.#bytes.length / ENTRY_BYTES;
  }

  add(keys: Iterable<{ keyId: number; publicKey: Uint8Array }>): void {
    const parts: Buffer[] = [this.#bytes];
    for (const { keyId, publicKey } of keys) {
      const entry = Buffer.alloc(ENTRY_BYTES);
      entry.writeUIntBE(keyId, 0, 3);
      entry.set(publicKey, 3);
      parts.push(entry);
    }
    this.#bytes = Buffer.concat(parts);
  }

  take(): PreKey | undefined {
    if (this.#bytes.length === 0) return undefined;
    const entry = readEntry(this.#bytes, 0);
    this.#bytes = this.#bytes.subarray(ENTRY_BYTES);
    return entry;
  }

  save(): Buffer {
    return this.#bytes;
  }

  load(bytes: Buffer): void {
    this.#bytes = Buffer.from(bytes);
  }

  /** Those that are left, in the order in which they will be handed out. */
  *entries(): Generator<PreKey> {
    for (let at = 0; at < this.#bytes.length; at += ENTRY_BYTES) yield readEntry(this.#bytes, at);
  }
}

function readEntry(bytes: Buffer, at: number): PreKey {
  return { keyId: bytes.readUIntBE(at, 3), publicKey: bytes.subarray(at + 3, at + ENTRY_BYTES) };
}
