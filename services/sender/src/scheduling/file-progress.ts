import type { MediaUpload } from '@gateway/contracts/content/media-content';
import { isOver, pauseAfter } from './retries.js';

/** About half an hour with the pauses in between. */
const MAX_ATTEMPTS = 12;

/** Upload state of a send's file; a send without a file is complete. */
export class FileProgress {
  /** It is on its way. */
  uploading = false;
  upload: MediaUpload | undefined;
  notBeforeMs = 0;

  /** @param attempts at uploads, before the send gave up its place; the next is due at `notBeforeMs`. */
  constructor(
    private readonly isNeeded: boolean,
    public attempts = 0,
  ) {}

  /** Nothing can be sent before it is uploaded. */
  get isLacking(): boolean {
    return this.isNeeded && !this.upload;
  }

  isDue(nowMs: number): boolean {
    return this.isLacking && !this.uploading && isOver(this.notBeforeMs, nowMs);
  }

  /** After a pause that doubles at each attempt; `false` after the last attempt. */
  retry(nowMs: number): boolean {
    this.notBeforeMs = nowMs + pauseAfter(this.attempts);
    this.attempts++;
    return this.attempts < MAX_ATTEMPTS;
  }
}
