import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { Store } from '../../core/store.js';
import { ringEventBell } from '../../events/event-bells.js';
import { knownEventWorkspaces } from '../../events/open-events.js';

/**
 * Endpoints belong to the process that took them last, for as long as it lives: as devices do, by its session, without an end of
 * their own. It has one in each workspace, in the slot of its endpoints.
 */
export interface WebhookOwner {
  processId: string;
  /** How long its sessions last unless they are renewed. */
  sessionMs: number;
}

/** Taking an endpoint makes it, and renews it, too. One that has run out stays so: its workspace may have been deleted. */
export async function renewSession(
  store: Store,
  workspace: Workspace,
  { processId, sessionMs }: WebhookOwner,
): Promise<void> {
  const { webhookSession } = workspaceKeys(store.space, workspace);
  await store.redis.pexpire(webhookSession(processId), sessionMs);
}

/** Other processes may take its endpoints from then on. */
export async function endSessions(store: Store, processId: string): Promise<void> {
  const { workspaces } = await knownEventWorkspaces(store);
  await Promise.all(
    workspaces.map(async (workspace) => {
      const hadSession = await store.redis.del(workspaceKeys(store.space, workspace).webhookSession(processId));
      if (hadSession) await ringEventBell(store, workspace);
    }),
  );
}
