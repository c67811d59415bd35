import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, number } from '../core/scripts/define-script.js';
import { isOne } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import { closeEvents } from './open-events.js';

const endStep = defineScript({
  name: 'end-events',
  whenFull: 'runs',
  keys: ['marks', 'webhooks'],
  args: { unreadSinceMs: number },
  reply: isOne,
});

/** As long as the log goes back. */
const UNREAD_MS = 7 * 24 * 60 * 60_000;

/**
 * Ends the events of a workspace that has no webhook, and that no one has read for a week. Answers whether it did. That they end is
 * decided in one step; where a process dies after it, the next look around goes on. Who opens them meanwhile has them from then on.
 */
export async function closeUnwanted(store: Store, workspace: Workspace, nowMs: number): Promise<boolean> {
  const { webhooks, eventMarks } = workspaceKeys(store.space, workspace);
  if (!(await endStep(store, { marks: eventMarks, webhooks, unreadSinceMs: nowMs - UNREAD_MS }))) return false;
  return closeEvents(store, workspace);
}
