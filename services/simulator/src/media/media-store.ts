import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** What may be kept at a time; the least recently used goes first. */
const LARGEST_STORE_BYTES = 512 * 1024 * 1024;

/** Encrypted files as clients uploaded them, found by path. The same bytes are kept once. */
export class MediaStore {
  readonly #files = new LRUCache<string, Buffer>({
    maxSize: LARGEST_STORE_BYTES,
    sizeCalculation: (bytes) => bytes.length || 1,
  });

  /** Keeps a file. Undefined when `token`, the base64url of its SHA-256, is not the token of these bytes. */
  keep(bytes: Buffer, token: string): string | undefined {
    const hash = createHash('sha256').update(bytes).digest('base64url');
    if (token.replace(/=+$/, '') !== hash) return undefined;
    const path = `/v/t62.7118-24/${hash}.enc`;
    this.#files.set(path, bytes);
    return path;
  }

  find(path: string): Buffer | undefined {
    return this.#files.get(path);
  }

  get count(): number {
    return this.#files.size;
  }
}
