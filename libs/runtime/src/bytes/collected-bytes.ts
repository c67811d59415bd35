const BLOCK_BYTES = 64 * 1024;

/**
 * Bytes that come in pieces, copied into blocks. The pieces themselves are not kept: of a body in pieces of one byte each
 * would cost a hundred, and one of a few bytes would keep the whole that it was cut from.
 */
export class CollectedBytes {
  readonly #full: Buffer[] = [];
  #block = Buffer.alloc(0);
  #used = 0;

  get length(): number {
    return this.#full.length * BLOCK_BYTES + this.#used;
  }

  push(piece: Buffer): void {
    for (let from = 0; from < piece.length; ) {
      if (this.#used === this.#block.length) this.#grow(piece.length - from);
      const copied = piece.copy(this.#block, this.#used, from);
      this.#used += copied;
      from += copied;
    }
  }

  toBuffer(): Buffer {
    return Buffer.concat([...this.#full, this.#block.subarray(0, this.#used)]);
  }

  /** Small bodies are most: a block begins as small as they are. */
  #grow(bytes: number): void {
    if (this.#used === BLOCK_BYTES) {
      this.#full.push(this.#block);
      this.#block = Buffer.alloc(0);
      this.#used = 0;
    }
    const size = Math.min(BLOCK_BYTES, Math.max(2 * this.#used, this.#used + bytes, 512));
    const block = Buffer.allocUnsafe(size);
    this.#block.copy(block, 0, 0, this.#used);
    this.#block = block;
  }
}
