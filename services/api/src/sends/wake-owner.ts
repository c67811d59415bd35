import type { DeviceAddress } from '@gateway/contracts/ids';
import { inTime } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { AcceptedSend, NewSend } from '@gateway/store/sends/accepting/accept-send';
import type { ApiDeps } from '../api-deps.js';

const QUEUE_MS = 300;

/**
 * Tells the owner of a device of a send; the process that claims a device without one reads its open sends. A one-time
 * password also has a doorbell: by the queue its owner hears of it turns of the event loop later, which a list may fill.
 * Where the queue cannot be written, or not in time, a doorbell tells it to compare all that is open: on a Cluster the queue may lie on a
 * node that is away, or hangs, and the send does not.
 * Never rejects, whatever becomes of Redis: the send is promised, and an owner that hears of nothing finds it.
 */
export async function wakeOwner(
  { store, producer, logger }: Pick<ApiDeps, 'store' | 'producer'> & { logger: Pick<Logger, 'warn'> },
  address: DeviceAddress,
  { messageId, owner, priority, requestId }: AcceptedSend & Pick<NewSend, 'requestId'>,
): Promise<void> {
  if (owner === undefined) return;
  if (priority === 'otp') void ringDoorbell(store, { topic: 'codes', ...address, code: { messageId, requestId } });
  try {
    const added = producer.addSend(owner, { v: 1, ...address, messageId, requestId, priority });
    if (await inTime(added, QUEUE_MS)) return;
    await ringDoorbell(store, { topic: 'sends', ...address });
    await added;
  } catch (thrown) {
    logger.warn('owner not woken for a send, it finds it by itself', { messageId, error: toError(thrown) });
    await ringDoorbell(store, { topic: 'sends', ...address });
  }
}
