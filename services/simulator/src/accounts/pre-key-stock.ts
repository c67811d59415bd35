const ENTRY_BYTES = 3 + 32;

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

  take(): { keyId: number; publicKey: Buffer } | undefined {
    if (this.#bytes.length === 0) return undefined;
    const entry = this.#bytes.subarray(0, ENTRY_BYTES);
    this.#bytes = this.#bytes.subarray(ENTRY_BYTES);
    return { keyId: entry.readUIntBE(0, 3), publicKey: entry.subarray(3) };
  }

  save(): Buffer {
    return this.#bytes;
  }

  load(bytes: Buffer): void {
    this.#bytes = Buffer.from(bytes);
  }

  ids(): number[] {
    return Array.from({ length: this.count }, (_, index) => this.#bytes.readUIntBE(index * ENTRY_BYTES, 3));
  }
}
