import type { DeviceAddress } from '@gateway/contracts/ids';
import type { MessageContent } from '@gateway/contracts/message-content';
import type { PlatformIds } from '@gateway/contracts/platform-id';
import { readContent } from '@gateway/store/read-send';
import type { Store } from '@gateway/store/store';

/**
 * Rebuilds a message for a phone that could not read it, from what was accepted: in any process, after any restart,
 * for as long as the send is kept. `undefined` for messages of other clients.
 */
export async function messageOf(
  deps: { store: Store; address: DeviceAddress; ids: PlatformIds },
  platformId: string,
): Promise<MessageContent | undefined> {
  const parts = deps.ids.parse(platformId);
  if (!parts) return undefined;
  return readContent(deps.store, deps.address, parts.tag);
}
