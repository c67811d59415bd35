import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { Store } from '../core/store.js';
import { closeEvents, openEvents } from './open-events.js';

/** As long as the log goes back. */
const UNREAD_MS = 7 * 24 * 60 * 60_000;

/**
 * Ends the events of a workspace that has no webhook, and that no one has read for a week. Answers whether it did. Who reads them for the
 * first time again at this very moment has them from then on, too.
 */
export async function closeUnwanted(store: Store, workspace: Workspace, nowMs: number): Promise<boolean> {
  const { webhooks, eventMarks } = workspaceKeys(store.space, workspace);
  const lastUse = async () => {
    const [endpoints, readAtMs, openedAtMs] = await Promise.all([
      store.redis.scard(webhooks),
      store.redis.hget(eventMarks, 'readAtMs'),
      store.redis.hget(eventMarks, 'openedAtMs'),
    ]);
    return { endpoints, atMs: Number(readAtMs ?? openedAtMs ?? nowMs) };
  };
  const before = await lastUse();
  if (before.endpoints > 0 || before.atMs > nowMs - UNREAD_MS) return false;
  await closeEvents(store, workspace);
  const after = await lastUse();
  if (after.endpoints === 0 && after.atMs === nowMs) return true;
  await store.redis.hdel(eventMarks, 'isOpen');
  await openEvents(store, workspace);
  return false;
}
