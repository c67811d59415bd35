import type { DeviceAddress } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { AcceptedSend, NewSend } from '@gateway/store/sends/accepting/accept-send';
import type { ApiDeps } from '../api-deps.js';

/**
 * Tells the owner of a device of a send. Never rejects, whatever becomes of Redis: the send is promised, and an owner that
 * hears of nothing finds it in two seconds.
 */
export async function wakeOwner(
  { store, producer, logger }: Pick<ApiDeps, 'store' | 'producer'> & { logger: Pick<Logger, 'warn'> },
  address: DeviceAddress,
  { messageId, priority, requestId }: AcceptedSend & Pick<NewSend, 'requestId'>,
): Promise<void> {
  const job: SendJob = { v: 1, ...address, messageId, requestId, priority };
  try {
    await producer.addSend(job, { epoch: 0 });
    await ringDoorbell(store, { topic: 'sends', ...address });
  } catch (thrown) {
    logger.warn('owner not woken for a send, it finds it by itself', { messageId, error: toError(thrown) });
  }
}
