import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import { priorityOf } from '@gateway/contracts/jobs';
import { ApiError } from '@gateway/runtime/errors';
import { dropBlob } from '@gateway/store/blobs/blobs';
import {
  type AcceptedSend,
  acceptSend,
  acceptSendOnce,
  type NewSend,
  OtherAccountError,
  SendsFullError,
} from '@gateway/store/sends/accepting/accept-send';
import type { ApiDeps } from '../api-deps.js';
import type { Call } from '../http/endpoint.js';
import { inProgress, type RepeatKey } from './answer-repeat.js';
import { promiseSend } from './promise-send.js';
import { noRoom } from './redis-headroom.js';

interface Acceptance {
  send: NewSend;
  /** For a repeat; ignored without a `repeat` key. */
  answer: Record<string, unknown>;
  repeat: RepeatKey | undefined;
}

/** Writes a send down and promises it. Throws 503 without room, 409 when a request under the same key, or another account, came in between. */
export async function recordSend(
  { address, requestId, logger }: Call<unknown, object>,
  deps: ApiDeps,
  { send, answer, repeat }: Acceptance,
): Promise<MessageId> {
  const { messageId, forgotten } = await writeDown(address, deps, { send, answer, repeat }).catch(
    async (thrown: unknown) => {
      // It may have been written all the same; without its file it is not promised by a repeat either.
      if (send.content.kind === 'media') await dropBlob(deps.store, address.workspace, send.content);
      throw thrown;
    },
  );
  await promiseSend(deps, address, { messageId, requestId, kind: send.kind });
  if (forgotten > 0) logger.info('finished sends deleted early to make room', { sends: forgotten });
  deps.metrics.acceptedRecipients.inc(send.recipients.length);
  logger.info('send accepted', { device: address.device, messageId, recipients: send.recipients.length });
  return messageId;
}

async function writeDown(
  address: DeviceAddress,
  { store, headroom }: ApiDeps,
  { send, answer, repeat }: Acceptance,
): Promise<AcceptedSend> {
  await headroom.take(priorityOf(send) === 'otp' ? 'urgent' : 'lists', send.recipients.length * send.parts);
  const bounded = { ...send, quotaBytes: await headroom.sendQuotaBytes() };
  const accepted = await (repeat
    ? acceptSendOnce(store, address, bounded, { ...repeat, answer })
    : acceptSend(store, address, bounded)
  ).catch((thrown: unknown) => {
    if (thrown instanceof OtherAccountError) throw new ApiError('no_device');
    throw thrown instanceof SendsFullError ? noRoom(thrown) : thrown;
  });
  if (!accepted) throw inProgress();
  return accepted;
}
