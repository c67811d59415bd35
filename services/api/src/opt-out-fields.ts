import { OPT_OUT_SOURCES } from '@gateway/contracts/opt-outs';
import { normalizePhoneNumber } from '@gateway/contracts/phone-number';
import { ApiError } from '@gateway/runtime/errors';
import type { OptOut } from '@gateway/store/opt-outs';
import { Joi, NUMBER_MESSAGE } from './input-types.js';

export const optedOutPhoneSchema = Joi.string().description(
  'Digits. Numbers that are written in two ways, as in Brazil, Mexico and Argentina, are answered in one.',
);
export const optOutSourceSchema = Joi.string()
  .valid(...OPT_OUT_SOURCES)
  .description('`reply`: they wrote STOP. `api`, `cli`: an operator put them here.');

/** The number in the path of a request. Throws 400. */
export function readPhone({ phone = '' }: Readonly<Record<string, string>>): string {
  const digits = normalizePhoneNumber(phone);
  if (digits !== undefined) return digits;
  throw new ApiError('invalid_request', { details: [{ path: ['phone'], message: NUMBER_MESSAGE }] });
}

export function describeOptOut({ phone, source, atMs }: OptOut) {
  return { phone, source, at: new Date(atMs).toISOString() };
}
