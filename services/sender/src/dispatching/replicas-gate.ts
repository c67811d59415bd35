import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import type { WorkItem } from '../scheduling/send-progress.js';
import { type Gate, type GateDeps, PASS } from './gate.js';

/** Nothing is claimed while claims may be lost. */
export const replicasGate: Gate = async (deps, item) => {
  const ms = deps.claims?.restMs(keysOfClaim(deps, item)) ?? 0;
  return ms > 0 ? { kind: 'rest', ms } : PASS;
};

/**
 * In the slot of the claim, and in that of the opt-outs, which are read with it: on a Cluster a master that was replaced may still answer.
 * Of a code nothing is read there.
 */
export function keysOfClaim({ store, ownership: { address } }: GateDeps, { send }: WorkItem): string[] {
  const { device } = deviceKeys(store.space, address);
  const isOtp = send.record.priority === 'otp';
  return isOtp ? [device] : [device, workspaceKeys(store.space, address.workspace).optOutCount];
}
