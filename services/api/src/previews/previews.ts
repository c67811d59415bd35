import { setMaxListeners } from 'node:events';
import type { MediaType } from '@gateway/contracts/content/media-content';
import { Turns } from '../http/turns.js';
import { isPicture } from './is-picture.js';
import type { Description } from './preview-job.js';
import { PreviewProcess } from './preview-process.js';
import { readDescription } from './read-description.js';

/**
 * Outcome of a preview. `none`: the file has none, or cannot be read. `gave_up`: no process was free in time.
 * The others are about the process, which was ended: `no_answer` in time, `too_much` of an answer, or it `died`.
 */
export const PREVIEW_OUTCOMES = ['made', 'none', 'gave_up', 'no_answer', 'too_much', 'died'] as const;
export type PreviewOutcome = (typeof PREVIEW_OUTCOMES)[number];

export interface PreviewOptions {
  onOutcome(outcome: PreviewOutcome): void;
  /** How many files wait for a process. */
  onWaiting(count: number): void;
  /** For all of it, from the call on. Default 5 s. */
  totalMs?: number;
  /** For the work of a process on one file. Default 3 s. */
  workMs?: number;
  /** How long an unused process lives. Default 30 s. */
  idleMs?: number;
  /** Default: those of a large container. */
  bounds?: PreviewBounds;
  /** Tests have others. */
  entry?: URL;
}

export interface PreviewBounds {
  processes: number;
  /** Writable memory of each. */
  memoryKilobytes: number;
}

export interface FileToDescribe {
  bytes: Buffer;
  type: MediaType;
  mimeType: string;
  /** Key id of the token: each has its own line. */
  tokenId: string;
}

const LARGE: PreviewBounds = { processes: 2, memoryKilobytes: 256 * 1024 };
/** Beside request bodies there is no room for more. */
const SMALL: PreviewBounds = { processes: 1, memoryKilobytes: 192 * 1024 };
const SMALL_BELOW_BYTES = 768 * 1024 * 1024;
/** Fewer than all, so that other tokens always find a process. */
const PROCESSES_PER_TOKEN = 1;
/** Fewer than all, too: counting their frames may take seconds, while an image takes a moment. */
const PROCESSES_FOR_SOUNDS = 1;
/** In less a process would be started, and ended, for nothing. */
const LEAST_WORK_MS = 100;
/** So that normal work never exhausts their processor time, and leftovers of a file do not stay forever. */
const FILES_PER_PROCESS = 20;

/** @param memoryBytes what this process and its children may have together. */
export function previewBounds(memoryBytes: number): PreviewBounds {
  return memoryBytes < SMALL_BELOW_BYTES ? SMALL : LARGE;
}

/**
 * Describes files of strangers in processes that can be ended: two (one in a small container), started when they are needed.
 * A preview is worth no more than a few seconds of waiting; without one the file is sent as it is. Each token waits in a line
 * of its own, and the heads of the lines take turns. Of sounds one at a time stands there: they leave one of two processes to
 * pictures, and where there is one, a picture waits for one sound at most.
 */
export class Previews {
  readonly #options: Required<PreviewOptions>;
  readonly #ofToken = new Turns(PROCESSES_PER_TOKEN);
  readonly #ofSounds = new Turns(PROCESSES_FOR_SOUNDS);
  readonly #ofAll: Turns;
  readonly #processes = new Set<PreviewProcess>();
  readonly #idle: PreviewProcess[] = [];
  readonly #closing = new AbortController();
  #sweep: NodeJS.Timeout | undefined;
  #waiting = 0;

  constructor(options: PreviewOptions) {
    const entry = new URL('./preview-main.js', import.meta.url);
    // One for each file that waits.
    setMaxListeners(0, this.#closing.signal);
    this.#options = { totalMs: 5_000, workMs: 3_000, idleMs: 30_000, bounds: LARGE, entry, ...options };
    this.#ofAll = new Turns(this.#options.bounds.processes);
  }

  /** Never rejects: missing or late results are left out. */
  async describe(file: FileToDescribe): Promise<Description> {
    if (!mayHaveOne(file)) return {};
    const { outcome, description = {} } = await this.#inTurn(file);
    this.#options.onOutcome(outcome);
    return description;
  }

  /** Ends all processes at once; waiting files get no preview. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#sweep);
    await Promise.all([...this.#processes].map((each) => each.end()));
  }

  async #inTurn(file: FileToDescribe): Promise<{ outcome: PreviewOutcome; description?: Description }> {
    const endsAtMs = performance.now() + this.#options.totalMs;
    const leftMs = () => Math.max(0, endsAtMs - performance.now());
    this.#options.onWaiting(++this.#waiting);
    const endTurns = await this.#takeTurns(file, leftMs);
    this.#options.onWaiting(--this.#waiting);
    try {
      return endTurns && leftMs() > LEAST_WORK_MS && !this.#closing.signal.aborted
        ? await this.#make(file, leftMs)
        : { outcome: 'gave_up' };
    } finally {
      endTurns?.();
    }
  }

  /** Resolves with a function that ends them all, or with `undefined` if one of them does not start in time. */
  async #takeTurns({ type, tokenId }: FileToDescribe, leftMs: () => number): Promise<(() => void) | undefined> {
    const lines = [
      { turns: this.#ofToken, caller: tokenId },
      ...(isTimed(type) ? [{ turns: this.#ofSounds, caller: 'all' }] : []),
      { turns: this.#ofAll, caller: 'all' },
    ];
    const ends: (() => void)[] = [];
    const endAll = () => ends.forEach((end) => void end());
    for (const { turns, caller } of lines) {
      const end = await turns.take(caller, leftMs(), this.#closing.signal);
      if (!end) {
        endAll();
        return undefined;
      }
      ends.push(end);
    }
    return endAll;
  }

  async #make(
    { bytes, type, mimeType }: FileToDescribe,
    leftMs: () => number,
  ): Promise<{ outcome: PreviewOutcome; description?: Description }> {
    const child = this.#takeIdle() ?? this.#start();
    const ready = child.used > 0 ? 'ready' : await child.becomeReady(leftMs());
    if (ready !== 'ready') {
      this.#drop(child);
      return { outcome: ready };
    }
    const job = { type, mimeType, sizeBytes: bytes.length };
    const answer = await child.ask(job, bytes, Math.min(this.#options.workMs, leftMs()));
    this.#putBack(child);
    if (answer.kind === 'failed') return { outcome: answer.why };
    const description = readDescription(answer.line);
    return { outcome: Object.keys(description).length > 0 ? 'made' : 'none', description };
  }

  #takeIdle(): PreviewProcess | undefined {
    for (let child = this.#idle.pop(); child; child = this.#idle.pop()) {
      if (!child.isGone) return child;
      this.#drop(child);
    }
    return undefined;
  }

  #start(): PreviewProcess {
    const child = new PreviewProcess(this.#options.entry, this.#options.bounds.memoryKilobytes);
    this.#processes.add(child);
    return child;
  }

  #putBack(child: PreviewProcess): void {
    if (!child.isGone && child.used < FILES_PER_PROCESS && !this.#closing.signal.aborted) this.#idle.push(child);
    else this.#drop(child);
    this.#sweep ??= setTimeout(() => this.#endIdle(), this.#options.idleMs).unref();
    this.#sweep.refresh();
  }

  #endIdle(): void {
    for (const child of this.#idle.splice(0)) this.#drop(child);
  }

  #drop(child: PreviewProcess): void {
    this.#processes.delete(child);
    void child.end();
  }
}

/** No process is started for files that it would not read. */
function mayHaveOne({ bytes, type }: FileToDescribe): boolean {
  return isTimed(type) || isPicture(bytes);
}

/** Sounds and videos. */
function isTimed(type: MediaType): boolean {
  return type === 'audio' || type === 'video';
}
