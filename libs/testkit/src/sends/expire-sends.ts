import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import { expireSend } from '@gateway/store/sends/change-send';
import { listOpenSends } from '@gateway/store/sends/open-sends';

/** Ends all sends of a device whose time is over by then. Returns the ids of those that ended. */
export async function expireSends(
  store: Store,
  { address }: { address: DeviceAddress },
  nowMs: number,
): Promise<MessageId[]> {
  const before = await listOpenSends(store, address);
  for (const messageId of before) await expireSend(store, address, messageId, nowMs);
  const open = new Set(await listOpenSends(store, address));
  return before.filter((messageId) => !open.has(messageId));
}
