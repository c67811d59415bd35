import { DEFAULT_WORKSPACE, type MessageId } from '@gateway/contracts/ids';
import { priorityOf } from '@gateway/contracts/jobs';
import { ApiError, toError } from '@gateway/runtime/errors';
import { isNotConfirmed, isRedisFull } from '@gateway/runtime/redis/is-redis-away';
import { beginPart } from '@gateway/runtime/tracing/spans';
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

type SendingCall = Pick<
  Call<unknown, object>,
  'address' | 'requestId' | 'token' | 'logger' | 'inTurn' | 'trace' | 'noteSend' | 'requireKeptToken'
>;

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
  const { store, producer } = deps;
  const recipients = send.recipients.length;
  const span = beginPart('accept', call.trace, {
    kind: 'producer',
    fields: {
      'gateway.device': address.device,
      'gateway.kind': send.kind,
      'gateway.messages': recipients * send.parts,
    },
  });
  try {
    const accepted = await takeIn(call, deps, { send: { trace: span.trace, ...send }, answer, repeat });
    span.note({ 'gateway.message_id': accepted.messageId });
    // Not awaited: the send is promised, and an owner that is not told finds it.
    void wakeOwner({ store, producer, logger }, address, { requestId, ...accepted });
    tellAccepted(call, send, accepted);
    span.end();
    return accepted.messageId;
  } catch (thrown) {
    span.fail(toError(thrown));
    throw thrown;
  }
}

/** The one `info` line of a send: what became of it is in its record, and in the metrics. */
function tellAccepted(
  { address, token, logger, noteSend }: SendingCall,
  { kind, recipients }: NewSend,
  { messageId, forgotten }: AcceptedSend,
): void {
  noteSend();
  logger.info('send accepted', {
    messageId,
    ...{ device: address.device, kind, recipients: recipients.length, tokenId: token.keyId },
    ...(address.workspace !== DEFAULT_WORKSPACE && { workspace: address.workspace }),
    // Finished ones of the same token, before their time: there was no room for all.
    ...(forgotten > 0 && { deletedSends: forgotten }),
  });
}

/** Its file gets the lifetime of the send before the send exists, and is released at once if the send is refused. */
async function takeIn(call: SendingCall, deps: ApiDeps, acceptance: Acceptance): Promise<AcceptedSend> {
  const { content, expiresAtMs } = acceptance.send;
  const { store } = deps;
  const { address } = call;
  try {
    await beforeThereIsASend(call.requireKeptToken());
    if (content.kind === 'media') {
      const isKept = await beforeThereIsASend(keepBlob(store, address.workspace, { content, expiresAtMs }));
      if (!isKept) throw new ApiError('unavailable');
    }
    return await accept(call, deps, acceptance);
  } catch (thrown) {
    // When the reply of Redis is lost the send may be there: its file lives until that has expired.
    if (content.kind === 'media' && isRefusal(toError(thrown))) await dropBlob(store, address.workspace, content);
    throw thrown;
  }
}

/** What replicas do not confirm is refused as a whole: nothing may still happen. */
async function beforeThereIsASend<Kept>(keeping: Promise<Kept>): Promise<Kept> {
  try {
    return await keeping;
  } catch (thrown) {
    throw isNotConfirmed(thrown) ? new ApiError('unavailable', { cause: thrown }) : thrown;
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
  return headroom.take({ use, messages, address }, async (freeMessages) => {
    const bounded = { quotaBytes, freeMessages, ...send };
    const accepted = await inTurn<AcceptedSend | undefined>(() =>
      repeat ? acceptSendOnce(store, address, bounded, { answer, ...repeat }) : acceptSend(store, address, bounded),
    ).catch((thrown: unknown) => {
      if (thrown instanceof OtherAccountError) throw new ApiError('no_device');
      throw thrown instanceof SendsFullError ? noRoom(thrown) : thrown;
    });
    if (!accepted) throw inProgress();
    return accepted;
  });
}
