import type { Workspace } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import { listMembers } from '@gateway/store/fleet/members';

/** Whether some sender that lives can take one more device. */
export async function senderHasRoom(store: Store, workspace: Workspace): Promise<boolean> {
  const senders = await listMembers(store, workspace, 'sender');
  return senders.some(({ held, capacity }) => held < capacity);
}
