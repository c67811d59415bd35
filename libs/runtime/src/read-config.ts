import type Joi from 'joi';
import { GatewayError } from './errors.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Sentences of Joi that would quote a value, said without it. */
const MESSAGES = {
  'any.required': '{{#label}} is required',
  'any.custom': '{{#label}} {{#error.message}}',
  'string.pattern.base': '{{#label}} does not have the expected form',
  'string.pattern.name': '{{#label}} does not have the expected form: {{#name}}',
};

/**
 * Reads a service's settings from environment variables. An empty variable counts as absent, unknown ones are ignored.
 * Throws one error that names every variable with a problem and never shows a value: they may be secrets.
 */
export function readConfig<Config>(schema: Joi.ObjectSchema<Config>, environment: Environment): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const { value, error } = schema.validate(given, {
    abortEarly: false,
    stripUnknown: true,
    messages: MESSAGES,
    errors: { wrap: { label: false } },
  });
  if (error) throw configError(error.details);
  return value;
}

function configError(details: Joi.ValidationErrorItem[]): GatewayError {
  const problems = details.map(({ message, context }) => hideValue(message, context?.value));
  return new GatewayError({ code: 'invalid_config', message: `invalid configuration: ${problems.join('; ')}` });
}

/** For sentences that we did not foresee. Short values are not secrets, and may be part of a word. */
function hideValue(message: string, value: unknown): string {
  return typeof value === 'string' && value.length >= 4 ? message.replaceAll(value, '***') : message;
}
