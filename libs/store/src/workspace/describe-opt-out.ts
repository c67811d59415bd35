import { describePerson } from '@gateway/contracts/people/normalize-person';
import { type OptOut, placeOf } from './opt-outs.js';

/** As the API and the command line show it; `at` is ISO 8601. */
export function describeOptOut(optOut: OptOut) {
  const { source, atMs } = optOut;
  return { ...describePerson(placeOf(optOut)), source, at: new Date(atMs).toISOString() };
}
