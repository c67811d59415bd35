import type { ContentInput } from '../contents/content-input.js';
import type { TextFields } from '../contents/text-input.js';
import { type Attachment, attachmentSchema } from './attachment-schema.js';
import { fetchRemoteFile, readInlineFile, storeFile } from './load-attachment.js';
import { placeText } from './place-text.js';

export interface MediaFields extends TextFields {
  attachment?: Attachment;
}

/** A file, and the text that goes with it. */
export const mediaInput: ContentInput<MediaFields> = {
  field: 'attachment',
  schema: attachmentSchema.description('A file, up to 10 MB. `text` goes with it.'),
  async take({ attachment, text }) {
    const given = attachment!;
    const inlineFile = await readInlineFile(given);
    const placed = placeText(given, text);
    return {
      kind: 'media',
      parts: placed.followingText === undefined ? 1 : 2,
      async toContent(call, deps) {
        const file = inlineFile ?? (await fetchRemoteFile(given, call, deps));
        return { ...(await storeFile(call, deps, { attachment: given, file })), ...placed };
      },
    };
  },
};
