import { normalizePerson } from '@gateway/contracts/people/normalize-person';
import { OPT_OUT_SOURCES } from '@gateway/contracts/people/opt-outs';
import { ApiError } from '@gateway/runtime/errors';
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
