import { LIMITS } from '@gateway/contracts/limits';
import { words } from '../http/input/shown-text.js';
import type { ContentInput } from './content-input.js';

export interface TextFields {
  text?: string;
}

export const textInput: ContentInput<TextFields> = {
  field: 'text',
  schema: words(LIMITS.maxTextCharacters).description(
    'The text of the message, sent unchanged. It must contain a visible character: phones show white space, control characters ' +
      'and invisible marks as an empty bubble.',
  ),
  take: async ({ text = '' }) => ({ kind: 'text', parts: 1, toContent: async () => ({ kind: 'text', text }) }),
};
