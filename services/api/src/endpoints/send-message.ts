import type { MessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { ApiError } from '@gateway/runtime/errors';
import { acceptSend, openSend } from '@gateway/store/accept-send';
import { ringDoorbell } from '@gateway/store/doorbells';
import type { ApiDeps } from '../api-deps.js';
import type { Call, Endpoint } from '../endpoint.js';
import { estimateFinishMs } from '../estimate-finish.js';
import { Joi } from '../input-types.js';
import { requireLinkedDevice } from '../require-device.js';

type NoQuery = Record<string, never>;

interface SendBody {
  /** Digits, doubles included. */
  to: string[];
  text: string;
  attachment?: never;
  existingMessageId?: never;
}

const notYet = Joi.forbidden().messages({ 'any.unknown': 'is not supported yet' });

/** 10,000 numbers and the longest text, with every character escaped. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;

/**
 * `POST /send`: accepts a message to one recipient or to a list. Answers once it is written down and queued, with one
 * id for all recipients; what becomes of them is `GET /messages/{id}`. Repeating it sends again.
 */
export const sendMessage: Endpoint<NoQuery, SendBody> = {
  methods: ['post'],
  path: '/send',
  bucket: 'send',
  query: Joi.object<NoQuery>({}),
  body: Joi.object<SendBody>({
    to: Joi.recipients().required(),
    text: Joi.string().max(LIMITS.maxTextCharacters).custom(refuseBrokenText),
    attachment: notYet,
    existingMessageId: notYet,
  })
    .or('text', 'attachment')
    .messages({ 'object.missing': 'either text or attachment must be provided' }),
  maxBodyBytes: MAX_BODY_BYTES,

  async handle(call, deps) {
    const { address, body } = call;
    await requireLinkedDevice(deps.store, address);
    if (!(await deps.headroom.hasRoom())) throw new ApiError('unavailable', { headers: { 'Retry-After': '30' } });
    const recipients = [...new Set(body.to)];
    const nowMs = deps.clock.nowMs();
    const expiresAtMs = nowMs + LIMITS.sendExpirySeconds * 1000;
    const finishMs = await estimateFinishMs(deps, address, recipients.length);
    if (finishMs > expiresAtMs) throw new ApiError('queue_would_expire');
    const messageId = await record(call, deps, { recipients, nowMs, expiresAtMs });
    deps.metrics.acceptedRecipients.inc(recipients.length);
    return {
      status: 202,
      body: {
        messageId,
        status: 'queued',
        recipients: recipients.length,
        duplicates: body.to.length - recipients.length,
        estimatedFinishAt: new Date(finishMs).toISOString(),
      },
    };
  },
};

/**
 * Record, then job, then the flip that makes it a promise. A crash in between leaves a record that nobody was told of,
 * which is removed, or a job that finds its record: never a job without a record, nor a promise without a job.
 */
async function record(
  { address, body, token, requestId, logger }: Call<NoQuery, SendBody>,
  { store, producer }: ApiDeps,
  { recipients, nowMs, expiresAtMs }: { recipients: string[]; nowMs: number; expiresAtMs: number },
): Promise<MessageId> {
  const { messageId } = await acceptSend(store, address, {
    kind: 'text',
    content: { kind: 'text', text: body.text },
    parts: 1,
    recipients,
    tokenId: token.keyId,
    requestId,
    nowMs,
    expiresAtMs,
  });
  await producer.addSend({ v: 1, ...address, messageId, requestId, priority: 'bulk' }, { epoch: 0 });
  await openSend(store, address, messageId);
  await ringDoorbell(store, { topic: 'sends', ...address });
  logger.info('send accepted', { device: address.device, messageId, recipients: recipients.length });
  return messageId;
}

/** Half a surrogate pair cannot be written in UTF-8: the phone would show something else than was asked for. */
function refuseBrokenText(text: string): string {
  if (!(text as string & { isWellFormed(): boolean }).isWellFormed()) throw new Error('must be well-formed Unicode');
  return text;
}
