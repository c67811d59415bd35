import type { DeviceAddress } from '@gateway/contracts/ids';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { AcceptedSend, NewSend } from '@gateway/store/sends/accepting/accept-send';
import type { ApiDeps } from '../api-deps.js';

/**
 * Tells the owner of a device of a send; the process that claims a device without one reads its open sends. Never rejects,
 * whatever becomes of Redis: the send is promised, and an owner that hears of nothing finds it.
 */
export async function wakeOwner(
  { producer, logger }: Pick<ApiDeps, 'producer'> & { logger: Pick<Logger, 'warn'> },
  address: DeviceAddress,
  { messageId, owner, priority, requestId }: AcceptedSend & Pick<NewSend, 'requestId'>,
): Promise<void> {
  if (owner === undefined) return;
  try {
    await producer.addSend(owner, { v: 1, ...address, messageId, requestId, priority });
  } catch (thrown) {
    logger.warn('owner not woken for a send, it finds it by itself', { messageId, error: toError(thrown) });
  }
}
