import { type Gate, PASS } from './gate.js';

/** The device sends no faster than its pace. */
export const paceGate: Gate = async ({ pacePlaces }) => {
  const ms = await pacePlaces().take();
  return ms > 0 ? { kind: 'wait', ms } : PASS;
};
