import { LIMITS } from '@gateway/contracts/limits';
import { ApiError } from '@gateway/runtime/errors';
import { InlineFileReader } from '../../attachments/inline-file.js';
import { JsonScan } from './json-scan.js';

/** Where a file inside a request stands. */
const FILE_PATH = ['attachment', 'base64'] as const;

/** Makes one body of the pieces that it comes in. All that throws is a 400 or a 413, as early as it can be known. */
export class BodyReader {
  readonly #scan: JsonScan;
  #file: InlineFileReader | undefined;

  /** @param hasFile whether `attachment.base64` may be long, and becomes an `InlineFile`. */
  constructor({ maxBytes, hasFile }: { maxBytes: number; hasFile: boolean }) {
    this.#scan = new JsonScan({
      maxBytes: Math.min(maxBytes, LIMITS.maxBodyBytesBesideFile),
      ...(hasFile && { long: { path: FILE_PATH, take: (piece: Buffer) => this.#takeFile(piece) } }),
    });
  }

  push(chunk: Buffer): void {
    this.#scan.push(chunk);
  }

  /** All but the file. */
  get textBytes(): number {
    return this.#scan.restBytes;
  }

  /** `undefined` when there was none. */
  finish(): unknown {
    const rest = this.#scan.rest();
    if (rest.length === 0) return undefined;
    const body = parseJson(rest);
    this.#scan.free();
    if (this.#file) putFile(body, this.#file);
    return body;
  }

  /** What is large of it; the body is of no use any more. */
  free(): void {
    this.#file?.free();
    this.#scan.free();
  }

  #takeFile(piece: Buffer): void {
    if (this.#scan.longValues > 1) throw givenTwice();
    this.#file ??= new InlineFileReader();
    this.#file.push(piece);
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(UTF8.decode(bytes));
  } catch {
    // The parser's own message quotes the body.
    throw new ApiError('invalid_request', { details: [{ path: [], message: 'must be valid JSON in UTF-8' }] });
  }
}

/** Of names that stand twice the parser takes the last, which may not be the one that the file came under. */
function putFile(body: unknown, file: InlineFileReader): void {
  const { attachment } = body as { attachment?: { base64?: unknown } | null };
  if (attachment?.base64 !== '') throw givenTwice();
  attachment.base64 = file.finish();
}

function givenTwice(): ApiError {
  return new ApiError('invalid_request', { details: [{ path: [...FILE_PATH], message: 'must be given once' }] });
}
