import { normalizePhoneNumber } from '@gateway/contracts/people/normalize-phone-number';
import { digitsOfHiddenId, OPT_OUT_SOURCES } from '@gateway/contracts/people/opt-outs';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import { ApiError } from '@gateway/runtime/errors';
import { type OptOut, placeOf } from '@gateway/store/workspace/opt-outs';
import { Joi, NUMBER_MESSAGE } from '../http/input/input-types.js';

export const optedOutPhoneSchema = Joi.string()
  .allow(null)
  .description(
    'Digits. Numbers that are written in two ways, as in Brazil, Mexico and Argentina, are answered in one. ' +
      '`null` for a person whose number is not known.',
  );
export const hiddenIdSchema = Joi.string().description(
  'Only of a person whose number is not known: the identifier under which the network shows them, such as ' +
    '`100000000000001@lid`. Its digits are not a phone number.',
);
export const optOutSourceSchema = Joi.string()
  .valid(...OPT_OUT_SOURCES)
  .description('`reply`: they wrote STOP. `api`, `cli`: an operator put them here.');

/** The number in the path of a request, or the hidden identifier. Throws 400. */
export function readPerson({ phone = '' }: Readonly<Record<string, string>>): string {
  const person = normalizePerson(phone);
  if (person !== undefined) return person;
  throw new ApiError('invalid_request', { details: [{ path: ['phone'], message: NUMBER_MESSAGE }] });
}

/** Digits of a number, or a hidden identifier as lists show it; `undefined` for anything else. */
export function normalizePerson(given: string): string | undefined {
  return digitsOfHiddenId(given) === undefined ? normalizePhoneNumber(given) : given;
}

export function describePerson(person: string): { phone: string | null; hiddenId?: string } {
  return digitsOfHiddenId(person) === undefined
    ? { phone: canonicalPhoneNumber(person) }
    : { phone: null, hiddenId: person };
}

export function describeOptOut(optOut: OptOut) {
  const { source, atMs } = optOut;
  return { ...describePerson(placeOf(optOut)), source, at: new Date(atMs).toISOString() };
}
