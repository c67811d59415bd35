import type { ContentKind } from '@gateway/contracts/content/message-content';
import { type MediaFields, mediaInput } from '../attachments/media-input.js';
import type { ContentInput, GivenContent } from './content-input.js';
import { type TextFields, textInput } from './text-input.js';

/** The contents of a request, by the fields of its body. */
export interface ContentFields extends TextFields, MediaFields {}

/** One for each kind. The last one that a request has is sent; a text goes with it. */
const CONTENT_INPUTS: { [Kind in ContentKind]: ContentInput<ContentFields> } = {
  text: textInput,
  media: mediaInput,
};

const INPUTS = Object.values(CONTENT_INPUTS);
/** A request has at least one of them. */
export const CONTENT_FIELDS = INPUTS.map(({ field }) => field);
export const CONTENT_SCHEMAS = Object.fromEntries(INPUTS.map(({ field, schema }) => [field, schema]));

/** Check 5. Throws 400 with the path of the invalid field. */
export function takeContent(fields: ContentFields): Promise<GivenContent> {
  const input = INPUTS.findLast(({ field }) => fields[field] !== undefined) ?? textInput;
  return input.take(fields);
}
