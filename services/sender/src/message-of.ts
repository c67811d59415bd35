import type { DeviceAddress } from '@gateway/contracts/ids';
import { contentOfPart, type ReadyContent } from '@gateway/contracts/message-content';
import type { PlatformIds } from '@gateway/contracts/platform-id';
import { readUpload } from '@gateway/store/blobs';
import { readContent } from '@gateway/store/read-send';
import type { Store } from '@gateway/store/store';

/**
 * Rebuilds a message for a phone that could not read it, from what was accepted: in any process, after any restart,
 * for as long as the send is kept. A file is not uploaded again. `undefined` for messages of other clients.
 */
export async function messageOf(
  deps: { store: Store; address: DeviceAddress; ids: PlatformIds },
  platformId: string,
): Promise<ReadyContent | undefined> {
  const { store, address, ids } = deps;
  const id = ids.parse(platformId);
  const content = id && (await readContent(store, address, id.tag));
  const message = content && contentOfPart(content, id.part);
  if (message?.kind !== 'media') return message;
  const upload = await readUpload(store, address, message);
  return upload && { ...message, upload };
}
