import { normalizePhoneNumber } from './normalize-phone-number.js';
import { digitsOfHiddenId } from './opt-outs.js';
import { canonicalPhoneNumber } from './phone-number.js';

/** Digits of a number, or a hidden identifier as lists show it; `undefined` for anything else. */
export function normalizePerson(given: string): string | undefined {
  return digitsOfHiddenId(given) === undefined ? normalizePhoneNumber(given) : given;
}

/** The same as callers see it. */
export function describePerson(person: string): { phone: string | null; hiddenId?: string } {
  return digitsOfHiddenId(person) === undefined
    ? { phone: canonicalPhoneNumber(person) }
    : { phone: null, hiddenId: person };
}
