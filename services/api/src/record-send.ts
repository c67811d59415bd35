import type { MessageId } from '@gateway/contracts/ids';
import { acceptSend, acceptSendOnce, type NewSend } from '@gateway/store/accept-send';
import { inProgress, type RepeatKey } from './answer-repeat.js';
import type { ApiDeps } from './api-deps.js';
import type { Call } from './endpoint.js';
import { promiseSend } from './promise-send.js';

interface Acceptance {
  send: NewSend;
  /** For a repeat; ignored without a `repeat` key. */
  answer: Record<string, unknown>;
  repeat: RepeatKey | undefined;
}

/** Writes a send down and promises it. Throws 503 without room, 409 when a request under the same key came in between. */
export async function recordSend(
  { address, requestId, logger }: Call<unknown, object>,
  deps: ApiDeps,
  { send, answer, repeat }: Acceptance,
): Promise<MessageId> {
  await deps.headroom.take(send.kind === 'otp' ? 'urgent' : 'lists', send.recipients.length * send.parts);
  const accepted = repeat
    ? await acceptSendOnce(deps.store, address, send, { ...repeat, answer })
    : await acceptSend(deps.store, address, send);
  if (!accepted) throw inProgress();
  const { messageId } = accepted;
  await promiseSend(deps, address, { messageId, requestId, priority: send.kind === 'otp' ? 'otp' : 'bulk' });
  deps.metrics.acceptedRecipients.inc(send.recipients.length);
  logger.info('send accepted', { device: address.device, messageId, recipients: send.recipients.length });
  return messageId;
}
