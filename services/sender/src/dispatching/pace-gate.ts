import { takePace } from '@gateway/store/sends/change-send';
import { type Gate, PASS } from './gate.js';

/** The device sends no faster than its pace. */
export const paceGate: Gate = async ({ store, ownership, clock, currentPace }) => {
  const ms = await takePace(store, ownership, { pace: currentPace(), nowMs: clock.nowMs() });
  return ms > 0 ? { kind: 'wait', ms } : PASS;
};
