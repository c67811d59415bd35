const FIRST_BYTES = 512;
/** Grown that far by copying, in memory that the garbage collector frees when it comes by. */
const SMALL_BYTES = 128 * 1024;

/** Of ES2024; Node has it since version 20. */
type GrowingBuffer = ArrayBuffer & { readonly resizable: boolean; resize(bytes: number): void };
const GrowingBuffer = ArrayBuffer as unknown as new (bytes: number, room: { maxByteLength: number }) => GrowingBuffer;

/**
 * Bytes that come in pieces, in one place. The pieces themselves are not kept: of a body in pieces of one byte each would
 * cost a hundred, and one of a few bytes would keep the whole that it was cut from. What is large is never copied as it
 * grows, and can be freed at once: it is the megabytes that wait for a garbage collection which fill a container.
 */
export class CollectedBytes {
  readonly #mostBytes: number;
  #place = Buffer.alloc(0);
  #used = 0;

  /** @param mostBytes that will come; a `RangeError` beyond. They are not set aside. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get length(): number {
    return this.#used;
  }

  push(piece: Buffer): void {
    this.#makeRoom(piece.length);
    this.#used += piece.copy(this.#place, this.#used);
  }

  /** @param text whole groups of four characters. Returns how many bytes they were: fewer than its length says if it is no base64. */
  pushBase64(text: string): number {
    this.#makeRoom(Buffer.byteLength(text, 'base64'));
    const bytes = this.#place.write(text, this.#used, 'base64');
    this.#used += bytes;
    return bytes;
  }

  /** Not a copy: nothing may be added after it. */
  toBuffer(): Buffer {
    return this.#place.subarray(0, this.#used);
  }

  /** See `freeBytes`. */
  free(): void {
    freeBytes(this.#place);
    this.#place = Buffer.alloc(0);
    this.#used = 0;
  }

  #makeRoom(bytes: number): void {
    const needed = this.#used + bytes;
    if (needed > this.#mostBytes) throw new RangeError('more bytes than were said to come');
    if (needed <= this.#place.length) return;
    const room = Math.min(Math.max(2 * this.#used, needed, FIRST_BYTES), this.#mostBytes);
    const { buffer } = this.#place;
    if (canFree(buffer)) {
      buffer.resize(room);
      this.#place = Buffer.from(buffer);
      return;
    }
    const place =
      room > SMALL_BYTES
        ? Buffer.from(new GrowingBuffer(room, { maxByteLength: this.#mostBytes }))
        : Buffer.allocUnsafe(room);
    this.#place.copy(place, 0, 0, this.#used);
    this.#place = place;
  }
}

/**
 * Gives memory back to the system now, not at the next garbage collection. Of bytes that were collected and are many: of
 * others nothing happens. What still refers to them finds none. Safe to repeat.
 */
export function freeBytes({ buffer }: Buffer): void {
  if (canFree(buffer)) buffer.resize(0);
}

function canFree(buffer: ArrayBufferLike): buffer is GrowingBuffer {
  return 'resizable' in buffer && buffer.resizable === true;
}
