import type { SendKind } from '@gateway/contracts/content/message-content';
import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import { priorityOf } from '@gateway/contracts/jobs';
import { ApiError } from '@gateway/runtime/errors';
import { keepBlob } from '@gateway/store/blobs/blobs';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { openSend } from '@gateway/store/sends/accepting/accept-send';
import type { ApiDeps } from '../api-deps.js';
import { unlessRedisIsAway } from '../http/is-redis-away.js';

export interface Promised {
  messageId: MessageId;
  requestId: string;
  kind: SendKind;
}

/**
 * Job, then the flip that makes a record a promise. A crash in between leaves a record that nobody was told of, which is
 * removed, or a job that finds its record: never a promise without a record or a job, nor one whose file goes before it.
 * Safe to repeat. Throws 503 for a record, or a file, that was removed meanwhile.
 *
 * With its job in the queue a send will go out: whoever finds the job flips the record. So when Redis goes away right
 * then, the promise stands; to call it a failure would have the caller send it twice.
 */
export async function promiseSend(
  { store, producer }: Pick<ApiDeps, 'store' | 'producer'>,
  address: DeviceAddress,
  { messageId, requestId, kind }: Promised,
): Promise<void> {
  if (kind === 'media' && !(await keepBlob(store, address, messageId))) throw new ApiError('unavailable');
  const priority = priorityOf({ kind });
  await producer.addSend({ v: 1, ...address, messageId, requestId, priority }, { epoch: 0 });
  const isOpen = await openSend(store, address, messageId).catch(unlessRedisIsAway);
  if (isOpen === false) throw new ApiError('unavailable');
  await ringDoorbell(store, { topic: 'sends', ...address });
}
