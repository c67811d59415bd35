import { type DeviceAddress, parseMessageId } from '@gateway/contracts/ids';
import { ApiError } from '@gateway/runtime/errors';
import type { ApiToken } from '@gateway/store/api-tokens';
import { findDeviceByShortId } from '@gateway/store/devices';
import { readSend, type SendRecord } from '@gateway/store/read-send';
import type { Store } from '@gateway/store/store';

export interface FoundMessage {
  address: DeviceAddress;
  send: SendRecord;
}

/**
 * The send of a message id, whatever device it belongs to; a token that is linked to a device finds only that one's.
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
  // One that is still being accepted was never answered: nobody can know its id.
  if (!send || send.state === 'accepting') throw new ApiError('not_found');
  return { address, send };
}
