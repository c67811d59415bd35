import type { MessageId } from '@gateway/contracts/ids';
import { priorityOf } from '@gateway/contracts/jobs';
import { ApiError, toError } from '@gateway/runtime/errors';
import { isRedisFull } from '@gateway/runtime/redis/is-redis-away';
import { dropBlob, keepBlob } from '@gateway/store/blobs/blobs';
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
import { noRoom, roomUseOf } from './redis-headroom.js';
import { wakeOwner } from './wake-owner.js';

type SendingCall = Pick<Call<unknown, object>, 'address' | 'requestId' | 'logger' | 'inTurn'>;

interface Acceptance {
  send: NewSend;
  /** For a repeat; ignored without a `repeat` key. */
  answer: Record<string, unknown>;
  repeat: RepeatKey | undefined;
}

/** Accepts a send, and wakes its owner. Throws 503 without room, 409 when a request under the same key, or another account, came in between. */
export async function recordSend(
  call: SendingCall,
  deps: ApiDeps,
  { send, answer, repeat }: Acceptance,
): Promise<MessageId> {
  const { address, requestId, logger } = call;
  const accepted = await takeIn(call, deps, { send, answer, repeat });
  const { messageId, forgotten } = accepted;
  await wakeOwner({ ...deps, logger }, address, { ...accepted, requestId });
  if (forgotten > 0) logger.info('finished sends deleted early to make room', { sends: forgotten });
  logger.info('send accepted', { device: address.device, messageId, recipients: send.recipients.length });
  return messageId;
}

/** Its file gets the lifetime of the send before the send exists, and is released at once if the send is refused. */
async function takeIn(call: SendingCall, deps: ApiDeps, acceptance: Acceptance): Promise<AcceptedSend> {
  const { content, expiresAtMs } = acceptance.send;
  if (content.kind !== 'media') return accept(call, deps, acceptance);
  const { store } = deps;
  const { address } = call;
  try {
    if (!(await keepBlob(store, address.workspace, { content, expiresAtMs }))) throw new ApiError('unavailable');
    return await accept(call, deps, acceptance);
  } catch (thrown) {
    // When the reply of Redis is lost the send may be there: its file lives until that has expired.
    if (isRefusal(toError(thrown))) await dropBlob(store, address.workspace, content);
    throw thrown;
  }
}

function isRefusal(error: Error): boolean {
  return error instanceof ApiError || isRedisFull(error);
}

async function accept(
  { address, inTurn }: SendingCall,
  { store, headroom }: ApiDeps,
  { send, answer, repeat }: Acceptance,
): Promise<AcceptedSend> {
  const quotaBytes = await headroom.sendQuotaBytes();
  const use = priorityOf(send) === 'otp' ? 'urgent' : roomUseOf(send.recipients.length);
  const messages = send.recipients.length * send.parts;
  return headroom.take({ use, messages, workspace: address.workspace }, async (freeMessages) => {
    const bounded = { ...send, quotaBytes, freeMessages };
    const accepted = await inTurn<AcceptedSend | undefined>(() =>
      repeat ? acceptSendOnce(store, address, bounded, { ...repeat, answer }) : acceptSend(store, address, bounded),
    ).catch((thrown: unknown) => {
      if (thrown instanceof OtherAccountError) throw new ApiError('no_device');
      throw thrown instanceof SendsFullError ? noRoom(thrown) : thrown;
    });
    if (!accepted) throw inProgress();
    return accepted;
  });
}
