/**
 * That many may be of any size; they cost some 50 ms of processor time. The largest list, written as JSON one number and one
 * comma at a time, has 20,000.
 */
const FREE_PIECES = 25_000;
/**
 * Average size that further pieces must have. Lines of base64 are 76 long, packets of the slowest
 * connections 500: a client that sends smaller pieces cuts them up on purpose.
 */
const MIN_PIECE_BYTES = 64;

/**
 * Counts the pieces of a body. Each costs a microsecond or two regardless of its size: two megabytes, one byte at a time, would
 * take seconds from all other callers.
 */
export class PieceCount {
  readonly #free: number;
  #pieces = 0;
  #bytes = 0;

  constructor(freePieces = FREE_PIECES) {
    this.#free = freePieces;
  }

  /** Counts one. Whether there are too many tiny ones by now. */
  add(bytes: number): boolean {
    this.#pieces++;
    this.#bytes += bytes;
    return this.#bytes < (this.#pieces - this.#free) * MIN_PIECE_BYTES;
  }
}
