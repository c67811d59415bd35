import type { Workspace } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import { type FullOutbox, findFullIn, groupOutboxes } from '@gateway/store/events/outboxes/find-full-outboxes';

/** The outboxes of these workspaces that hold something. */
export async function findFullOutboxes(store: Store, ...workspaces: Workspace[]): Promise<FullOutbox[]> {
  return (await Promise.all(groupOutboxes(store, workspaces).map((group) => findFullIn(store, group)))).flat();
}
