import { normalizePerson } from '@gateway/contracts/people/normalize-person';
import { OPT_OUT_SOURCES } from '@gateway/contracts/people/opt-outs';
import { ApiError } from '@gateway/runtime/errors';
import { Joi, NUMBER_MESSAGE } from '../http/input/input-types.js';

export const optedOutPhoneSchema = Joi.string()
  .allow(null)
  .description(
    'Digits. Numbers that can be written in two ways, as in Brazil, Mexico and Argentina, are always shown in the same one. ' +
      '`null` for a person whose number is not known.',
  );
export const hiddenIdSchema = Joi.string().description(
  'Only for a person whose number is not known: the identifier that the network shows instead, such as ' +
    '`100000000000001@lid`. Its digits are not a phone number.',
);
export const optOutSourceSchema = Joi.string()
  .valid(...OPT_OUT_SOURCES)
  .description('`reply`: the person wrote STOP. `api`, `cli`: added by a request or an operator.');

/** The number in the path of a request, or the hidden identifier. Throws 400. */
export function readPerson({ phone = '' }: Readonly<Record<string, string>>): string {
  const person = normalizePerson(phone);
  if (person !== undefined) return person;
  throw new ApiError('invalid_request', { details: [{ path: ['phone'], message: NUMBER_MESSAGE }] });
}
