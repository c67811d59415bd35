import { randomUUID } from 'node:crypto';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, flag, number, text } from '../core/scripts/define-script.js';
import { isOne, nothing } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';

/** What is taken counts by parts of this length, in which it cannot be told what came first. */
export const TAKEN_PART_MS = 100;

const takeStep = defineScript({
  name: 'take-backlog',
  whenFull: 'refused',
  keys: ['taken', 'unwritten', 'limits'],
  args: { id: text, messages: number, room: number, knownAtMs: number, nowMs: number, partMs: number },
  reply: isOne,
});
const settleStep = defineScript({
  name: 'settle-backlog',
  whenFull: 'runs',
  keys: ['taken', 'unwritten'],
  args: { id: text, takenAtMs: number, nowMs: number, isRefused: flag, partMs: number },
  reply: nothing,
});

/** Messages that a process is about to write down. */
export interface BacklogUse {
  workspace: Workspace;
  messages: number;
  /** How many more might wait, as it knows it, */
  room: number;
  /** and of which moment that is. Times of Redis, as all processes have them. */
  knownAtMs: number;
  nowMs: number;
}

/** What was taken counts for all processes, whatever they know of the backlog, until it is written down, or will not be. */
export interface TakenBacklog {
  settle(end: { nowMs: number; isRefused: boolean }): Promise<void>;
}

/**
 * Messages wait in the slots of devices, where each process counts those of a workspace every two seconds. In between they share one
 * count of what they take. `undefined`: together with what others took there would be too many.
 */
export async function takeBacklog(store: Store, use: BacklogUse): Promise<TakenBacklog | undefined> {
  const { workspace, ...asked } = use;
  const { backlogTaken: taken, backlogUnwritten: unwritten, limits } = workspaceKeys(store.space, workspace);
  const counted = { id: randomUUID(), partMs: TAKEN_PART_MS };
  if (!(await takeStep(store, { taken, unwritten, limits, ...counted, ...asked }))) return undefined;
  return {
    settle: async (end) => {
      await settleStep(store, { taken, unwritten, ...counted, takenAtMs: use.nowMs, ...end });
    },
  };
}
