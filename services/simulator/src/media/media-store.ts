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
  readonly #expired = new Set<string>();

  /** Keeps a file. Undefined when `token`, the base64url of its SHA-256, is not the token of these bytes. */
  keep(bytes: Buffer, token: string): string | undefined {
    const hash = createHash('sha256').update(bytes).digest('base64url');
    if (token.replace(/=+$/, '') !== hash) return undefined;
    const path = `/v/t62.7118-24/${hash}.enc`;
    this.#files.set(path, bytes);
    this.#expired.delete(path);
    return path;
  }

  /** What clients find under a path. */
  find(path: string): Buffer | undefined {
    return this.#expired.has(path) ? undefined : this.#files.get(path);
  }

  /** The network lets go of all files, as it does after some weeks. Phones still have theirs, unless they are forgotten, too. */
  expire({ areForgotten }: { areForgotten: boolean }): number {
    const { count } = this;
    for (const path of this.#files.keys()) this.#expired.add(path);
    if (areForgotten) this.#files.clear();
    return count;
  }

  /** A phone that still has a file uploads it again if that has expired. Answers where it is now. */
  renew(path: string): string | undefined {
    const bytes = this.#files.get(path);
    if (!bytes || !this.#expired.has(path)) return bytes && path;
    const again = path.replace(/(?:-\d+)?\.enc$/, `-${this.#expired.size}.enc`);
    this.#files.set(again, bytes);
    return again;
  }

  get count(): number {
    return this.#files.size;
  }
}
