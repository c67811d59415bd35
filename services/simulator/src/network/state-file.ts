import { createHash } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import type { Logger } from '../logger.js';

/** How long a change may live in memory only, as long as saving is quick. */
const SAVE_EVERY_MS = 1_000;
/** Saving stops everything else while it packs: it may take this share of the time, and no more. */
const LARGEST_SHARE = 0.05;

/**
 * Keeps a state in a file, so that a killed process loses the last second at most: packed every second when it has
 * changed, less often when it is large, and written beside the old file before it takes its place.
 */
export class StateFile {
  /** When what is in the file was packed; Unix milliseconds. */
  savedAtMs: number | undefined;
  readonly #path: string;
  readonly #pack: () => Buffer;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** Hash of what is in the file. */
  #last: string | undefined;

  constructor(path: string, pack: () => Buffer, logger: Logger) {
    this.#path = path;
    this.#pack = pack;
    this.#logger = logger;
    this.#saveIn(SAVE_EVERY_MS);
  }

  /** What was kept, if there is a file. */
  static async read(path: string): Promise<Buffer | undefined> {
    try {
      return await readFile(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Something happened that must not wait for its second. */
  saveSoon(): void {
    this.#saveIn(0);
  }

  /** Saves once more and stops. */
  async close(): Promise<void> {
    await this.#save();
    clearTimeout(this.#timer);
    await this.#writing;
  }

  #saveIn(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#save(), delayMs).unref();
  }

  async #save(): Promise<void> {
    clearTimeout(this.#timer);
    const atMs = Date.now();
    const start = performance.now();
    const bytes = this.#pack();
    const packingMs = performance.now() - start;
    this.#writing = this.#writing.then(() => this.#replace(bytes, atMs));
    await this.#writing;
    this.#saveIn(Math.max(SAVE_EVERY_MS, packingMs / LARGEST_SHARE));
  }

  async #replace(bytes: Buffer, atMs: number): Promise<void> {
    const hash = createHash('sha1').update(bytes).digest('hex');
    try {
      if (hash !== this.#last) await this.#write(bytes);
      this.#last = hash;
      this.savedAtMs = atMs;
    } catch (error) {
      this.#logger.error('state could not be saved', { reason: String(error) });
    }
  }

  /** In one step: a process that is killed in the middle leaves the old state. */
  async #write(bytes: Buffer): Promise<void> {
    const file = await open(`${this.#path}.new`, 'w');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${this.#path}.new`, this.#path);
  }
}
