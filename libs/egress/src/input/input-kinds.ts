import { hasAtMost } from '@gateway/contracts/count-characters';
import { LIMITS } from '@gateway/contracts/limits';
import joi, {
  type AnySchema,
  type CustomHelpers,
  type Extension,
  type ExtensionRule,
  type Root,
  type StringSchema,
} from 'joi';
import { isPlainHttpUrl } from '../fetch-policy.js';

export interface DocumentedExtension extends Extension {
  /** JSON Schema of what the type takes. */
  jsonSchema(schema: AnySchema, json: Record<string, unknown>): Record<string, unknown>;
}

export interface InputKinds extends Root {
  /** An http(s) URL without credentials, of a host and a port that can exist, as it is written; at most `LIMITS.maxAttachmentUrlCharacters` long. */
  httpUrl(): StringSchema;
}

/** The parser would drop what may not be in a URL, and go on with something else than what was written. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be in it.
const HTTP_URL = /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s\u0000-\u001f\u007f-\u009f/\\?#][^\s\u0000-\u001f\u007f-\u009f]*$/;

const MAX_URL = LIMITS.maxAttachmentUrlCharacters;

const httpUrl: DocumentedExtension = {
  type: 'httpUrl',
  base: joi.string(),
  messages: {
    'httpUrl.invalid': 'must be an http or https URL without credentials, of a host and a port that can exist',
  },
  validate(value: string, { error }) {
    // Here, as rules come after this: the parser takes seconds for a host of 300,000 ideographs, which is one megabyte.
    if (!hasAtMost(value, MAX_URL)) return { value, errors: error('string.max', { limit: MAX_URL }) };
    const isUrl = HTTP_URL.test(value) && URL.canParse(value) && isPlainHttpUrl(new URL(value));
    return isUrl ? { value } : { value, errors: error('httpUrl.invalid') };
  },
  jsonSchema: (_schema, json) => ({
    ...json,
    type: 'string',
    format: 'uri',
    maxLength: MAX_URL,
    pattern: HTTP_URL.source,
  }),
};

/**
 * Strings whose `max` counts characters as people and JSON Schema do, by code points. Joi's own counts UTF-16 units, of
 * which an emoji has two: half of what the document promises would be refused.
 */
const string: Extension = {
  type: 'string',
  base: joi.string(),
  rules: {
    characters: {
      args: ['limit'],
      validate: (value: string, { error }: CustomHelpers, { limit }: { limit: number }) =>
        hasAtMost(value, limit) ? value : error('string.max', { limit }),
      jsonSchema: ({ args }: { args: { limit: number } }, json: object) => ({ ...json, maxLength: args.limit }),
    } as ExtensionRule,
  },
  overrides: {
    max(this: AnySchema, limit: number) {
      return this.$_addRule({ name: 'characters', args: { limit } });
    },
  },
};

/** Joi for what comes from callers, by whichever way. */
export const Joi = joi.extend(string, httpUrl) as InputKinds;

/** Every problem, none with a value in it. */
export const INPUT_PREFS = {
  abortEarly: false,
  errors: { label: false },
  messages: {
    'any.custom': '{{#error.message}}',
    'object.base': 'must be an object',
    'string.pattern.base': 'does not have the expected form',
  },
} as const;
