import type { InboundContent, InboundMedia } from '@gateway/contracts/content/inbound-content';
import { parseMediaId } from '@gateway/contracts/content/media-id';
import type { DeviceAddress, Workspace } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import { findDeviceByShortId } from '@gateway/store/devices/devices';
import { type ReceivedMessage, readInbound } from '@gateway/store/inbound/received-messages';

/** A message with a file, and where it was received. */
export interface MediaMessage {
  address: DeviceAddress;
  receivedId: string;
  message: ReceivedMessage;
  content: Extract<InboundContent, { media: InboundMedia }>;
}

/** The message whose file has this id. `undefined` when it is no id of the workspace, or the message is not kept any more. */
export async function findMedia(
  store: Store,
  workspace: Workspace,
  { id, nowMs }: { id: string; nowMs: number },
): Promise<MediaMessage | undefined> {
  const parsed = parseMediaId(id);
  const device = parsed && (await findDeviceByShortId(store, workspace, parsed.shortDeviceId));
  if (device === undefined) return undefined;
  const address = { workspace, device };
  const { receivedId } = parsed!;
  const message = await readInbound(store, address, { receivedId, nowMs });
  const content = message?.content;
  return message && content && 'media' in content ? { address, receivedId, message, content } : undefined;
}
