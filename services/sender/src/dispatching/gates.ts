import type { Gate, LastGate } from './gate.js';
import { optOutGate } from './opt-out-gate.js';
import { paceGate } from './pace-gate.js';
import { replicasGate } from './replicas-gate.js';
import { restrictionGate } from './restriction-gate.js';

/** In this order; the first that does not let a message pass is the last to be asked. The pace counts whom it lets pass. */
export const GATES: readonly Gate[] = [restrictionGate, replicasGate, paceGate];

export const LAST_GATES: readonly LastGate[] = [optOutGate];
