import type { Reply } from '@gateway/contracts/content/message-content';
import { LIMITS } from '@gateway/contracts/limits';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import { ApiError } from '@gateway/runtime/errors';
import type { NewSend } from '@gateway/store/sends/accepting/accept-send';
import { estimateFinishMs } from '@gateway/store/sends/estimate-finish';
import type { ErrorReport } from 'joi';
import type { ApiDeps } from '../api-deps.js';
import type { GivenContent } from '../contents/content-input.js';
import { CONTENT_FIELDS, CONTENT_SCHEMAS, type ContentFields, takeContent } from '../contents/content-inputs.js';
import { requireLinkedDevice } from '../devices/require-device.js';
import type { Answer, Call, Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { handleOnce, type RepeatKey } from './answer-repeat.js';
import { findReply } from './find-reply.js';
import { recordSend } from './record-send.js';
import { roomUseOf } from './redis-headroom.js';

type NoQuery = Record<string, never>;

interface SendBody extends ContentFields {
  /** Digits, duplicates included. */
  to: string[];
  existingMessageId?: string;
}

type SendCall = Call<NoQuery, SendBody>;

/** As its callers know it: the path of this one problem has the names of both fields. Of others it is where they are. */
function nameBoth(problem: ErrorReport): ErrorReport {
  const isOfBody = problem.code === 'object.missing' && problem.path.length === 0;
  return isOfBody ? Object.assign(problem, { path: CONTENT_FIELDS }) : problem;
}

/** The largest attachment as base64 beside 10,000 numbers and the longest text with every character escaped. */
const MAX_BODY_BYTES = Math.ceil(LIMITS.maxAttachmentBytes / 3) * 4 + 2 * 1024 * 1024;

/**
 * `POST /send`: accepts a message to one recipient or to a list. Answers once it is written down and queued, with one
 * id for all recipients; `GET /messages/{id}` has their status. Repeating it sends again, unless both requests
 * carry the same `Idempotency-Key`.
 */
export const sendMessage: Endpoint<NoQuery, SendBody> = {
  methods: ['post'],
  path: '/send',
  bucket: 'send',
  scope: 'send',
  query: Joi.object<NoQuery>({}),
  body: Joi.object<SendBody>({
    to: Joi.recipients().required().description('One phone number or a list of them; each gets the message once.'),
    ...CONTENT_SCHEMAS,
    existingMessageId: Joi.string()
      .max(100)
      .description(
        'The message to quote: a `messageId` of this device and token, or the network id of a message that this device and ' +
          'token sent, or that the device received in the last 7 days, with the account that is linked now. For a list each ' +
          'recipient quotes the message that they got. Sends of other tokens are unknown, except with the scope `admin`.',
      ),
  })
    .or(...CONTENT_FIELDS)
    .messages({ 'object.missing': `either ${CONTENT_FIELDS.join(' or ')} must be provided` })
    .error((errors) => errors.map(nameBoth)),
  maxBodyBytes: MAX_BODY_BYTES,
  hasFile: true,
  docs: {
    operationId: 'sendMessage',
    summary: 'Send a message to one recipient or to a list',
    description:
      'Answers once the message is stored and queued. One `messageId` identifies the whole list; `/messages/{messageId}` shows ' +
      'the status of each recipient. A message that is not sent within 24 hours expires.\n\n' +
      'A file goes out with `attachment.caption`, or else with `text`. With both, the text follows as a message of its own. ' +
      'The same goes for any text with stickers and audio, and for a text too long for a caption. A recipient has the status ' +
      'of the last of their messages. Before the download, phones show the size of images, videos and stickers, the length of ' +
      'videos and audio, and a small preview of images, also when they are sent as documents (JPEG, PNG, WebP and GIF up to 16 ' +
      'megapixels, if it can be made within five seconds; the file is sent in any case). Audio is shown as audio, not as a ' +
      'voice message.',
    // The reference fills it in for those who try it: it works as it is.
    example: { to: ['447700900123', '447700900124'], text: 'Our offer, as promised' },
    answer: {
      status: 202,
      description: 'Accepted: the message will be sent even if this service restarts now.',
      body: Joi.object({
        messageId: Joi.string().required(),
        status: Joi.string().valid('queued').required(),
        recipients: Joi.number().integer().required().description('Number of recipients.'),
        duplicates: Joi.number().integer().required().description('Entries of `to` that repeat a recipient.'),
        estimatedFinishAt: Joi.string().required().description('ISO 8601; from the pace and backlog of the device.'),
      }),
    },
    errors: ['no_device', 'idempotency_in_progress', 'queue_would_expire', 'idempotency_mismatch', 'not_confirmed'],
  },

  makesSends: true,
  readsState: true,
  idempotent: true,

  async handle(call, deps) {
    const given = await takeContent(call.body);
    return handleOnce(call, deps, {
      again: async ({ messageId, answer }) => ({ status: 202, body: { messageId, ...answer } }),
      handle: (repeat) => accept(call, deps, { given, repeat }),
    });
  },
};

async function accept(
  call: SendCall,
  deps: ApiDeps,
  { given, repeat }: { given: GivenContent; repeat: RepeatKey | undefined },
): Promise<Answer> {
  const device = await requireLinkedDevice(call);
  const reply = await replyOf(call, deps);
  const plan = await call.inTurn(() => planSend(call, deps, given));
  const messages = plan.recipients.length * plan.parts;
  await deps.headroom.refuseWithoutRoom(roomUseOf(plan.recipients.length), messages, call.address);
  const finishMs = estimateFinishMs(await call.readState(), messages, deps);
  if (finishMs > plan.expiresAtMs) throw new ApiError('queue_would_expire');
  const content = await given.toContent(call, deps);
  const send = { content, finishAtMs: finishMs, ...plan, ...device, ...(reply && { reply }) };
  const answer = {
    status: 'queued',
    recipients: send.recipients.length,
    duplicates: call.body.to.length - send.recipients.length,
    estimatedFinishAt: new Date(finishMs).toISOString(),
  };
  const messageId = await recordSend(call, deps, { send, answer, repeat });
  return { status: 202, body: { messageId, ...answer } };
}

function planSend(
  { body, token, requestId }: SendCall,
  { clock }: ApiDeps,
  { kind, parts }: GivenContent,
): Omit<NewSend, 'content'> {
  const nowMs = clock.nowMs();
  return {
    kind,
    parts,
    recipients: onePerPerson(body.to),
    owner: token.owner,
    requestId,
    nowMs,
    expiresAtMs: nowMs + LIMITS.sendExpirySeconds * 1000,
  };
}

/** As each is written first. */
function onePerPerson(numbers: readonly string[]): string[] {
  const people = new Map<string, string>();
  for (const number of numbers) {
    const person = canonicalPhoneNumber(number);
    if (!people.has(person)) people.set(person, number);
  }
  return [...people.values()];
}

async function replyOf({ address, token, body }: SendCall, deps: ApiDeps): Promise<Reply | undefined> {
  const { existingMessageId, to } = body;
  return existingMessageId === undefined ? undefined : findReply(deps, { address, token }, { existingMessageId, to });
}
