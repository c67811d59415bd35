import { EgressError } from './egress-error.js';

/** The largest head twice, and one more slice of what is read. */
const FREE_BYTES = 48 * 1024;
/** Certificates and all else of a handshake, of which real ones have 5 to 10 kB, and one more slice. */
const FREE_BYTES_OF_TLS = 24 * 1024;
/** Beside each byte of the body. A chunk of one byte has five; that such chunks are many is noticed elsewhere. */
const PER_BODY_BYTE = 8;

/**
 * Counts what an answer has beside its body: informational answers, the head, lengths and extensions of chunks, trailers,
 * and what TLS adds to them.
 * Of none of these HTTP has a largest number, a parser works longest on them, and real servers send a few hundred bytes.
 */
export class Surroundings {
  readonly #host: string;
  readonly #freeBytes: number;
  #bytes = 0;
  #bodyBytes = 0;

  constructor({ hostname, protocol }: URL) {
    this.#host = hostname;
    this.#freeBytes = FREE_BYTES + (protocol === 'https:' ? FREE_BYTES_OF_TLS : 0);
  }

  /** Of the connection. Throws when they are too many. */
  came(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#freeBytes + this.#bodyBytes * PER_BODY_BYTE)
      throw new EgressError('surroundings', this.#host);
  }

  /** That many of those that came were of the body. */
  without(bodyBytes: number): void {
    this.#bytes -= bodyBytes;
    this.#bodyBytes += bodyBytes;
  }
}
