import type { MediaContent, MediaType } from '@gateway/contracts/content/media-content';

/** What a phone shows of a file before the download. */
export type Description = Pick<MediaContent, 'width' | 'height' | 'animated' | 'seconds' | 'thumbnail'>;

/** Description of a file for the preview process; its bytes follow. */
export interface PreviewJob {
  type: MediaType;
  mimeType: string;
  sizeBytes: number;
}

/** First line of a process that makes previews. */
export const READY = 'ready' as const;
/** Longest line that such a process may write. A preview of 96 pixels has a few thousand characters. */
export const MAX_ANSWER_CHARACTERS = 64 * 1024;
