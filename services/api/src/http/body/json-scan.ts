import { LIMITS } from '@gateway/contracts/limits';
import { CollectedBytes } from '@gateway/runtime/bytes/collected-bytes';
import { ApiError } from '@gateway/runtime/errors';

export interface JsonBounds {
  /** Of all but the long value. */
  maxBytes: number;
  /** The only value that may be long. Its place, and what takes its bytes as they stand between the quotes. */
  long?: { path: readonly [string, string]; take(piece: Buffer): void };
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];
/** The longest way to write the longest name that is looked for: each letter of `attachment` as `\u0061`. */
const MAX_NAME_BYTES = 60;

/**
 * Looks over JSON while its bytes arrive: how deep it goes, how much it counts, where its strings end. What goes beyond
 * the bounds is refused at that byte, before anything is made of it: sixteen megabytes of `[` would otherwise take the
 * parser seconds, and hundreds of megabytes. Whether it is JSON at all is for `JSON.parse` to say, of what is left here,
 * which is short: the bytes of the one long value are handed on, and `""` stays in its place.
 *
 * That what is left is valid means that the whole is, but for the inside of the long value: for valid JSON this knows
 * exactly what is a name and what is a string.
 */
export class JsonScan {
  readonly #bounds: JsonBounds;
  readonly #rest: CollectedBytes;
  /** Of each level, whether it is an object, and the name that was read last in it. */
  readonly #levels: { isObject: boolean; name: string }[] = [];
  #entries = 0;
  #longValues = 0;
  /** `value` is any string whose content does not matter. */
  #inside: 'none' | 'value' | 'name' | 'long' = 'none';
  #isEscaped = false;
  #expectsName = false;
  #name = '';

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
    this.#rest = new CollectedBytes(bounds.maxBytes);
  }

  /** How often the long value was met: more than once if its name is. */
  get longValues(): number {
    return this.#longValues;
  }

  get restBytes(): number {
    return this.#rest.length;
  }

  /** Everything but the long value. */
  rest(): Buffer {
    return this.#rest.toBuffer();
  }

  /** It has been read. */
  free(): void {
    this.#rest.free();
  }

  /** Throws 413 or 400 at the first byte too many. */
  push(chunk: Buffer): void {
    // Where that begins which has not been kept, or handed on.
    let from = 0;
    let at = 0;
    while (at < chunk.length) {
      if (this.#inside === 'none') {
        at = this.#walk(chunk, at);
        continue;
      }
      const start = at;
      at = this.#findEnd(chunk, at);
      const hasEnded = at < chunk.length;
      if (this.#inside === 'long') {
        this.#keep(chunk, from, start);
        this.#bounds.long!.take(chunk.subarray(start, at));
        from = at;
      } else if (this.#inside === 'name' && this.#name.length <= MAX_NAME_BYTES) {
        this.#name += chunk.toString('latin1', start, Math.min(at, start + MAX_NAME_BYTES + 1));
      }
      if (hasEnded) {
        this.#endString();
        at++;
      }
    }
    this.#keep(chunk, from, chunk.length);
  }

  /** To behind the next string's opening quote, or the end. */
  #walk(chunk: Buffer, start: number): number {
    for (let at = start; at < chunk.length; at++) {
      switch (chunk[at]) {
        case QUOTE:
          this.#beginString();
          return at + 1;
        case COMMA:
          this.#count();
          this.#expectsName = this.#levels.at(-1)?.isObject ?? false;
          break;
        case COLON:
          this.#expectsName = false;
          break;
        case OPEN_OBJECT:
          this.#open(true);
          break;
        case OPEN_LIST:
          this.#open(false);
          break;
        case CLOSE_OBJECT:
        case CLOSE_LIST:
          this.#levels.pop();
          this.#expectsName = false;
          break;
      }
    }
    return chunk.length;
  }

  /** Where the closing quote is, or the end. */
  #findEnd(chunk: Buffer, start: number): number {
    if (this.#inside === 'long' && !this.#isEscaped) {
      // A hundred times as fast. Not for others: of ten thousand short strings each would look through all that follows.
      const quote = chunk.indexOf(QUOTE, start);
      const end = quote === -1 ? chunk.length : quote;
      const slash = chunk.indexOf(BACKSLASH, start);
      if (slash === -1 || slash > end) return end;
    }
    let isEscaped = this.#isEscaped;
    let at = start;
    for (; at < chunk.length; at++) {
      const byte = chunk[at];
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) break;
    }
    this.#isEscaped = isEscaped;
    return at;
  }

  #beginString(): void {
    this.#name = '';
    if (this.#expectsName) this.#inside = 'name';
    else if (!this.#isLong()) this.#inside = 'value';
    else {
      this.#inside = 'long';
      this.#longValues++;
    }
  }

  #endString(): void {
    if (this.#inside === 'name') this.#levels.at(-1)!.name = readName(this.#name);
    this.#inside = 'none';
  }

  #isLong(): boolean {
    const { long } = this.#bounds;
    if (!long || this.#levels.length !== long.path.length) return false;
    return this.#levels.every(({ isObject, name }, level) => isObject && name === long.path[level]);
  }

  #open(isObject: boolean): void {
    this.#count();
    if (this.#levels.length === LIMITS.maxBodyDepth) {
      throw refusal(`must not be nested more than ${LIMITS.maxBodyDepth} deep`);
    }
    this.#levels.push({ isObject, name: '' });
    this.#expectsName = isObject;
  }

  #count(): void {
    this.#entries++;
    if (this.#entries > LIMITS.maxBodyEntries) {
      throw refusal(`must not hold more than ${LIMITS.maxBodyEntries} fields and entries`);
    }
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    if (this.#rest.length + to - from > this.#bounds.maxBytes) throw new ApiError('payload_too_large');
    this.#rest.push(chunk.subarray(from, to));
  }
}

function refusal(message: string): ApiError {
  return new ApiError('invalid_request', { details: [{ path: [], message }] });
}

/** A name may be written with escapes. One that cannot be read is none that is looked for. */
function readName(written: string): string {
  if (!written.includes('\\')) return written;
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return '';
  }
}
