import { hasOptedOut } from '../preparing/drop-opted-out.js';
import { type LastGate, PASS } from './gate.js';

/** Stops messages to people who have opted out, under any of their names. */
export const optOutGate: LastGate = async (deps, { person }) =>
  (await hasOptedOut(deps, person)) ? { kind: 'refuse', error: 'recipient_opted_out' } : PASS;
