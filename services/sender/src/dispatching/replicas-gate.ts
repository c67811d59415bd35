import { type Gate, PASS } from './gate.js';
import { keysOfClaim } from './kept-claims.js';

/** Nothing is claimed while claims may be lost. */
export const replicasGate: Gate = async (deps, item) => {
  const ms = deps.claims?.restMs(keysOfClaim(deps, item)) ?? 0;
  return ms > 0 ? { kind: 'rest', ms } : PASS;
};
