import { createHash } from 'node:crypto';
import { LIMITS } from '@gateway/contracts/limits';
import { CollectedBytes } from '@gateway/runtime/bytes/collected-bytes';
import { ApiError } from '@gateway/runtime/errors';

/** A file that came inside its request, decoded. Its base64 was never kept. */
export class InlineFile {
  /** @param bytes `undefined` if the input is not base64. */
  constructor(readonly bytes: Buffer | undefined) {}

  /** How it counts in the fingerprint of a request. */
  toJSON(): string {
    return createHash('sha256')
      .update(this.bytes ?? '')
      .digest('base64');
  }
}

/** Smaller pieces are collected, as each decoding has a fixed cost. */
const BATCH_CHARACTERS = 64 * 1024;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const CUT_ESCAPE = /\\(?:u[0-9A-Fa-f]{0,3})?$/;

/**
 * Decodes the base64 of a file while it arrives, so that neither its megabytes of text nor a copy of them by the JSON
 * parser are ever in memory. Takes it as it is written in JSON: some libraries escape `/` and `+`.
 */
export class InlineFileReader {
  #waiting = new CollectedBytes(BATCH_CHARACTERS);
  /** Rest of a batch: an escape that is cut in two, or fewer than four characters. */
  #cutEscape = '';
  #cutQuad = '';
  #isPadded = false;
  #isBroken = false;
  readonly #decoded = new CollectedBytes(LIMITS.maxAttachmentBytes);

  /** Throws 413 when the file is too large. */
  push(piece: Buffer): void {
    // Broken input stays broken: nothing of it is kept.
    if (this.#isBroken) return;
    if (this.#waiting.length + piece.length < BATCH_CHARACTERS) {
      this.#waiting.push(piece);
      return;
    }
    this.#decodeWaiting();
    this.#decode(piece);
  }

  /** Of what has come by now. */
  finish(): InlineFile {
    this.#decodeWaiting();
    if (this.#isBroken || this.#cutEscape !== '' || this.#cutQuad !== '') return new InlineFile(undefined);
    return new InlineFile(this.#decoded.toBuffer());
  }

  /** The bytes of its file, too. */
  free(): void {
    this.#decoded.free();
  }

  #decodeWaiting(): void {
    const waiting = this.#waiting.toBuffer();
    this.#waiting = new CollectedBytes(BATCH_CHARACTERS);
    this.#decode(waiting);
  }

  #decode(piece: Buffer): void {
    const written = this.#cutEscape + piece.toString('latin1');
    this.#cutEscape = CUT_ESCAPE.exec(written)?.[0] ?? '';
    const text = this.#cutQuad + readEscapes(written.slice(0, written.length - this.#cutEscape.length));
    const whole = text.slice(0, text.length - (text.length % 4));
    this.#cutQuad = text.slice(whole.length);
    this.#isBroken ||= (this.#isPadded && text !== '') || isOtherBase64(whole, written);
    if (!this.#isBroken) this.#keep(whole);
    if (this.#isBroken) this.#decoded.free();
  }

  #keep(whole: string): void {
    this.#isPadded ||= whole.endsWith('=');
    const bytes = Buffer.byteLength(whole, 'base64');
    if (this.#decoded.length + bytes > LIMITS.maxAttachmentBytes) throw new ApiError('payload_too_large');
    // What is no base64 gives fewer: Node passes over it. It is ten times as fast as a pattern.
    this.#isBroken = this.#decoded.pushBase64(whole) < bytes;
  }
}

/** What Node takes for base64 and is none: the letters of URLs, and those beyond 255 that only an escape can write. */
function isOtherBase64(text: string, written: string): boolean {
  return text.includes('-') || text.includes('_') || (written.includes('\\') && !BASE64.test(text));
}

/** Text that cannot be read becomes what is no base64. */
function readEscapes(written: string): string {
  if (!written.includes('\\')) return written;
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return '!';
  }
}
