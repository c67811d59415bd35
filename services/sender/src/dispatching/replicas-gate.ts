import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type Gate, PASS } from './gate.js';

/** Nothing is claimed while claims may be lost. */
export const replicasGate: Gate = async ({ claims, store, ownership }) => {
  const ms = claims?.restMs(deviceKeys(store.space, ownership.address).device) ?? 0;
  return ms > 0 ? { kind: 'rest', ms } : PASS;
};
