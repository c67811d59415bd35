import { MEDIA, type MediaContent } from '@gateway/contracts/content/media-content';
import { hasAtMost } from '@gateway/contracts/count-characters';
import { LIMITS } from '@gateway/contracts/limits';
import type { Attachment } from './attachment-schema.js';

export type PlacedText = Pick<MediaContent, 'caption' | 'followingText'>;

/**
 * Which text goes with a file and which follows as a message of its own. The caption goes with the file, else
 * the text does; with both, the text follows. Stickers and audio have no caption, and no phone shows a caption past its
 * limit: then all of it follows.
 */
export function placeText({ type, caption }: Attachment, text: string | undefined): PlacedText {
  if (!MEDIA[type].takesCaption) {
    const words = [caption, text].filter((each) => each !== undefined);
    return words.length > 0 ? { followingText: words.join('\n\n') } : {};
  }
  if (caption !== undefined) return { caption, ...(text !== undefined && { followingText: text }) };
  if (text === undefined) return {};
  return hasAtMost(text, LIMITS.maxCaptionCharacters) ? { caption: text } : { followingText: text };
}
