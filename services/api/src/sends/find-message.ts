import { type DeviceAddress, parseMessageId } from '@gateway/contracts/ids';
import { ApiError } from '@gateway/runtime/errors';
import type { Store } from '@gateway/store/core/store';
import { findDeviceByShortId } from '@gateway/store/devices/devices';
import { readSend, type SendRecord } from '@gateway/store/sends/read-send';
import type { ApiToken } from '@gateway/store/workspace/tokens/api-tokens';

export interface FoundMessage {
  address: DeviceAddress;
  send: SendRecord;
}

/**
 * The send of a message id, if the token may see it: one that it made, or that a token made which it was rotated from. With
 * the scope `admin` any of the workspace. A token that is linked to a device finds only that one's.
 * Throws 404 for ids that are not there, not any more, or not for this token.
 */
export async function findMessage(
  store: Store,
  { id, workspace, token }: { id: string; workspace: string; token: ApiToken },
): Promise<FoundMessage> {
  const parsed = parseMessageId(id);
  const device = parsed && (await findDeviceByShortId(store, workspace, parsed.shortDeviceId));
  if (device === undefined || (token.device !== undefined && token.device !== device)) throw new ApiError('not_found');
  const address = { workspace, device };
  const send = await readSend(store, address, id);
  if (!send || !maySee(token, send)) throw new ApiError('not_found');
  return { address, send };
}

/** Whether the token made the send, or one that it was rotated from; with the scope `admin` it sees all. */
export function maySee({ scopes, owner }: ApiToken, send: SendRecord): boolean {
  return scopes.includes('admin') || send.owner === owner;
}
