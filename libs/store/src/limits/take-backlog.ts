import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, number } from '../core/scripts/define-script.js';
import { isOne } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';

/** What is taken counts by parts of this length, in which it cannot be told what came first. */
export const TAKEN_PART_MS = 100;

const step = defineScript({
  name: 'take-backlog',
  whenFull: 'refused',
  keys: ['taken', 'limits'],
  args: { messages: number, room: number, knownAtMs: number, nowMs: number, partMs: number },
  reply: isOne,
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

/**
 * Messages wait in the slots of devices, where each process counts those of a workspace every two seconds. In between they share one
 * count of what they take. `false`: together with what others took there would be too many.
 */
export function takeBacklog(store: Store, { workspace, ...use }: BacklogUse): Promise<boolean> {
  const { backlogTaken: taken, limits } = workspaceKeys(store.space, workspace);
  return step(store, { taken, limits, ...use, partMs: TAKEN_PART_MS });
}
