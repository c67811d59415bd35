import { readFileSync } from 'node:fs';
import type Joi from 'joi';
import { GatewayError } from '../errors.js';
import { listFields } from './list-fields.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Replacements for Joi messages that would quote a value. */
const MESSAGES = {
  'any.required': '{{#label}} is required',
  'any.custom': '{{#label}} {{#error.message}}',
  'string.pattern.base': '{{#label}} does not have the expected form',
  'string.pattern.name': '{{#label}} does not have the expected form: {{#name}}',
};

/**
 * Reads a service's settings from environment variables. An empty variable counts as absent, unknown ones are ignored. In
 * place of any setting `NAME` there may be `NAME_FILE`, the path of a file with its value; a line end after it is left out.
 * Throws one error that names every variable with a problem and never shows a value: they may be secrets.
 */
export function readConfig<Config>(schema: Joi.ObjectSchema<Config>, environment: Environment): Config {
  const given = dropEmpty(environment);
  const names = listFields(schema);
  const problems = names.flatMap((name) => takeFile(given, name) ?? []);
  const { value, error } = schema.validate(dropEmpty(given), {
    abortEarly: false,
    stripUnknown: true,
    messages: MESSAGES,
    errors: { wrap: { label: false } },
  });
  problems.push(...(error?.details ?? []).map(({ message, context }) => hideValue(message, context?.value)));
  if (problems.length === 0) return value as Config;
  throw new GatewayError({ code: 'invalid_config', message: `invalid configuration: ${problems.join('; ')}` });
}

function dropEmpty(environment: Environment): Record<string, string> {
  const entries = Object.entries(environment).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return Object.fromEntries(entries);
}

/** Replaces a setting by the content of its file, or reports what is wrong with the file. */
function takeFile(given: Record<string, string>, name: string): string | undefined {
  const path = given[`${name}_FILE`];
  if (path === undefined) return undefined;
  if (given[name] !== undefined) return `${name} and ${name}_FILE must not both be set`;
  try {
    given[name] = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    return undefined;
  } catch (thrown) {
    return `${name}_FILE cannot be read (${(thrown as NodeJS.ErrnoException).code})`;
  }
}

/** For unexpected messages. Short values are not secrets, and may be part of a word. */
function hideValue(message: string, value: unknown): string {
  return typeof value === 'string' && value.length >= 4 ? message.replaceAll(value, '***') : message;
}
