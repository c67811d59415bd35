import { LIMITS } from '@gateway/contracts/limits';
import { parseTime } from '@gateway/contracts/parse-time';
import { normalizePhoneNumber } from '@gateway/contracts/people/normalize-phone-number';
import { type DocumentedExtension, type InputKinds, Joi as Kinds } from '@gateway/egress/input/input-kinds';
import joi, { type AnySchema, type CustomHelpers, type ErrorReport } from 'joi';
import { InlineFile } from '../../attachments/inline-file.js';

interface InputTypes extends InputKinds {
  /** One phone number as people write it. Gives its digits. */
  phoneNumber(): AnySchema<string>;
  /** One number or a list of them. Gives the digits of each, in order, doubles included. */
  recipients(): AnySchema<string[]>;
  /** A list of 1 to 1,000 numbers. Gives the digits of each, in order, duplicates included. */
  phoneNumbers(): AnySchema<string[]>;
  /** 4 to 8 digits, as a string or as an integer. Gives the string. */
  otpCode(): AnySchema<string>;
  /** A date and time of RFC 3339, with its zone. Gives Unix ms. */
  dateTime(): AnySchema<number>;
  /** A file as base64, which was decoded while it came. */
  inlineFile(): AnySchema<InlineFile>;
}

type Path = readonly (string | number)[];

export const NUMBER_MESSAGE =
  'must be a phone number of 7 to 15 digits that starts with its country code, without the 0 that is dialled inside the country';
/** What `normalizePhoneNumber` takes, but for zeros that are no part of a number. */
const NUMBER_PATTERN = '^[\\s().\\[\\]-]*\\+?[\\s().\\[\\]-]*[1-9]([\\s().\\[\\]-]*[0-9]){6,14}[\\s().\\[\\]-]*$';
const NUMBER_SCHEMA = {
  type: 'string',
  pattern: NUMBER_PATTERN,
  not: { pattern: '[(\\[][\\s.-]*0[\\s.-]*[)\\]]' },
  description:
    'Country code first, 7 to 15 digits; a leading + and separators (space - . brackets) are ignored. A national trunk 0 is ' +
    'refused, as in +44 (0) 7700 900123 or +44 07700 900123.',
  examples: ['447700900123'],
};

const phoneNumber: DocumentedExtension = {
  type: 'phoneNumber',
  base: joi.any(),
  messages: { 'phoneNumber.invalid': NUMBER_MESSAGE },
  validate(value: unknown, { error }) {
    const digits = toDigits(value);
    return digits === undefined ? { value, errors: error('phoneNumber.invalid') } : { value: digits };
  },
  jsonSchema: (_schema, json) => ({ ...NUMBER_SCHEMA, ...json }),
};

/**
 * A list is checked here, not by Joi's own arrays: for 10,000 bad numbers those build a tree of megabytes, and with
 * `alternatives` they report the path of the list where a caller needs that of the entry.
 */
const recipients: DocumentedExtension = {
  type: 'recipients',
  base: joi.any(),
  messages: {
    'recipients.invalid': NUMBER_MESSAGE,
    'recipients.empty': 'must name at least one recipient',
    'recipients.max': `must not name more than ${LIMITS.maxRecipients} recipients`,
  },
  validate(value: unknown, helpers) {
    const path = helpers.state.path ?? [];
    if (!Array.isArray(value)) return toNumbers([value], helpers, () => path);
    if (value.length === 0) return { value, errors: helpers.error('recipients.empty') };
    if (value.length > LIMITS.maxRecipients) return { value, errors: helpers.error('recipients.max') };
    return toNumbers(value, helpers, (index) => [...path, index]);
  },
  jsonSchema: (_schema, json) => ({
    ...json,
    oneOf: [NUMBER_SCHEMA, { type: 'array', items: NUMBER_SCHEMA, minItems: 1, maxItems: LIMITS.maxRecipients }],
  }),
};

/** The same for numbers to ask about: always a list. */
const phoneNumbers: DocumentedExtension = {
  type: 'phoneNumbers',
  base: joi.any(),
  messages: {
    'recipients.invalid': NUMBER_MESSAGE,
    'phoneNumbers.base': `must be a list of 1 to ${LIMITS.maxCheckedContacts} phone numbers`,
  },
  validate(value: unknown, helpers) {
    const isList = Array.isArray(value) && value.length > 0 && value.length <= LIMITS.maxCheckedContacts;
    if (!isList) return { value, errors: helpers.error('phoneNumbers.base') };
    return toNumbers(value, helpers, (index) => [...(helpers.state.path ?? []), index]);
  },
  jsonSchema: (_schema, json) => ({
    ...json,
    type: 'array',
    items: NUMBER_SCHEMA,
    minItems: 1,
    maxItems: LIMITS.maxCheckedContacts,
  }),
};

/** A JSON number has no leading zeros; callers that need them send a string. */
const otpCode: DocumentedExtension = {
  type: 'otpCode',
  base: joi.any(),
  messages: { 'otpCode.invalid': 'must be 4 to 8 digits' },
  validate(value: unknown, { error }) {
    const code = Number.isSafeInteger(value) ? String(value) : value;
    const isCode = typeof code === 'string' && /^[0-9]{4,8}$/.test(code);
    return isCode ? { value: code } : { value, errors: error('otpCode.invalid') };
  },
  jsonSchema: (_schema, json) => ({
    ...json,
    oneOf: [
      { type: 'string', pattern: '^[0-9]{4,8}$' },
      { type: 'integer', minimum: 1_000, maximum: 99_999_999 },
    ],
  }),
};

const dateTime: DocumentedExtension = {
  type: 'dateTime',
  base: joi.any(),
  messages: {
    'dateTime.invalid': 'must be a date and time of RFC 3339 that exists, with its zone, as 2026-11-21T19:00:00Z',
  },
  validate(value: unknown, { error }) {
    const ms = typeof value === 'string' ? parseTime(value) : undefined;
    return ms === undefined ? { value, errors: error('dateTime.invalid') } : { value: ms };
  },
  jsonSchema: (_schema, json) => ({ ...json, type: 'string', format: 'date-time' }),
};

const inlineFile: DocumentedExtension = {
  type: 'inlineFile',
  base: joi.any(),
  messages: { 'inlineFile.base': 'must be a string', 'inlineFile.invalid': 'must be base64 with padding' },
  validate(value: unknown, { error }) {
    if (!(value instanceof InlineFile)) return { value, errors: error('inlineFile.base') };
    return value.bytes ? { value } : { value, errors: error('inlineFile.invalid') };
  },
  jsonSchema: (_schema, json) => ({
    ...json,
    type: 'string',
    contentEncoding: 'base64',
    pattern: '^[A-Za-z0-9+/]+={0,2}$',
    minLength: 4,
    maxLength: Math.ceil(LIMITS.maxAttachmentBytes / 3) * 4,
  }),
};

/** Joi with the kinds of input that are ours. */
export const Joi = Kinds.extend(phoneNumber, recipients, phoneNumbers, otpCode, dateTime, inlineFile) as InputTypes;

function toNumbers(entries: unknown[], { error, state }: CustomHelpers, pathOf: (index: number) => Path) {
  const numbers: string[] = [];
  const errors: ErrorReport[] = [];
  for (const [index, entry] of entries.entries()) {
    const digits = toDigits(entry);
    if (digits !== undefined) numbers.push(digits);
    else errors.push(error('recipients.invalid', undefined, state.localize?.(pathOf(index))));
    if (errors.length === LIMITS.maxValidationDetails) break;
  }
  return errors.length > 0 ? { value: entries, errors } : { value: numbers };
}

function toDigits(entry: unknown): string | undefined {
  return typeof entry === 'string' ? normalizePhoneNumber(entry) : undefined;
}
