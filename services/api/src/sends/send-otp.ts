import { OTP_LANGUAGES, type OtpLanguage, otpText } from '@gateway/contracts/content/otp-text';
import { type DeviceAddress, type MessageId, parseMessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { readIdKey } from '@gateway/store/devices/devices';
import type { NewSend } from '@gateway/store/sends/accepting/accept-send';
import type { ApiDeps } from '../api-deps.js';
import { requireLinkedDevice } from '../devices/require-device.js';
import type { Answer, Call, Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { type FirstRequest, handleOnce, inProgress, type RepeatKey } from './answer-repeat.js';
import { type OtpAnswer, waitForOtp } from './otp-outcome.js';
import { recordSend } from './record-send.js';

type NoQuery = Record<string, never>;

interface OtpBody {
  /** Digits. */
  phone: string;
  /** 4 to 8 digits. */
  code: string;
  language: OtpLanguage;
}

type OtpCall = Call<NoQuery, OtpBody>;

const MAX_BODY_BYTES = 16 * 1024;

const dataFields = {
  messageId: Joi.string().required().description('For `/messages/{messageId}`.'),
  platformMessageId: Joi.string().required().description('Message id in the network.'),
  phone: Joi.string().required(),
  code: Joi.string().required(),
  language: Joi.string()
    .valid(...OTP_LANGUAGES)
    .required(),
};

/**
 * `POST /otp`: sends a one-time password ahead of everything that waits on the device, and answers when the network has
 * taken it. The code is sealed in the record and erased when it is spent; answers, of repeats too, have it from the
 * request. Repeating it sends again, unless both requests carry the same `Idempotency-Key`.
 */
export const sendOtp: Endpoint<NoQuery, OtpBody> = {
  methods: ['post'],
  path: '/otp',
  bucket: 'otp',
  scope: 'otp',
  query: Joi.object<NoQuery>({}),
  body: Joi.object<OtpBody>({
    phone: Joi.phoneNumber().required(),
    code: Joi.otpCode().required().description('4 to 8 digits; a code that starts with a zero has to be a string.'),
    language: Joi.string()
      .valid(...OTP_LANGUAGES)
      .default('English')
      .description('Language of the sentence around the code.'),
  }),
  maxBodyBytes: MAX_BODY_BYTES,
  makesSends: true,
  readsState: true,
  idempotent: true,
  docs: {
    operationId: 'sendOtp',
    summary: 'Send a one-time password',
    description:
      'Sends the code in bold, in a sentence of the language. It overtakes all queued messages of the device, and the ' +
      `answer waits up to ${LIMITS.otpWaitSeconds} seconds for the network to accept it. A code that is not sent within ` +
      `${LIMITS.otpExpirySeconds / 60} minutes expires. With \`OTP was not sent\`, \`details\` gives the reason: ` +
      'a code of the network such as `network_403`, `expired`, `new_contacts_held` (it expired while the network did not let ' +
      'the account start new conversations), `awaiting_history` (it expired while the account had no salt to make tokens for ' +
      'strangers) or `cancelled`. With `Not confirmed, and may still happen` it may have been sent, or still be: a repeat with the same ' +
      '`Idempotency-Key` waits for it.',
    example: { phone: '447700900123', code: '482913', language: 'Arabic' },
    answer: {
      status: 200,
      description: 'The network has accepted it.',
      body: Joi.object({
        message: Joi.string().valid('OTP sent').required(),
        data: Joi.object({
          ...dataFields,
          sentAt: Joi.string().required().description('ISO 8601: when the network accepted it.'),
        }).required(),
      }),
    },
    otherAnswers: [
      {
        status: 202,
        description: 'Not sent yet. It goes out as soon as the device can send, unless it expires first.',
        body: Joi.object({
          message: Joi.string().valid('OTP queued').required(),
          data: Joi.object(dataFields).required(),
        }),
      },
    ],
    errors: [
      'no_device',
      'idempotency_in_progress',
      'not_on_messenger',
      'otp_not_sent',
      'idempotency_mismatch',
      'not_confirmed',
    ],
  },

  handle: (call, deps) =>
    handleOnce(call, deps, {
      again: (first) => answerAgain(call, deps, first),
      handle: (repeat) => sendOnce(call, deps, repeat),
    }),
};

async function sendOnce(call: OtpCall, deps: ApiDeps, repeat: RepeatKey | undefined): Promise<Answer> {
  const device = await requireLinkedDevice(call);
  // Before the record: after it the OTP counts as accepted, even if Redis fails.
  const makePlatformId = await platformIdMaker(deps, call.address);
  const send = { ...toSend(call, deps), ...device };
  const messageId = await recordSend(call, deps, { send, answer: {}, repeat });
  const otp = { messageId, platformMessageId: makePlatformId(messageId), address: call.address };
  return toAnswer(call, await waitForOtp(call, deps, { ...otp, ...(repeat && { idempotencyKey: repeat.key }) }));
}

/** The first answer, if there was one; else that of a request that ended before it. */
async function answerAgain(call: OtpCall, deps: ApiDeps, first: FirstRequest): Promise<Answer> {
  const kept = first.answer as Partial<OtpAnswer>;
  if (isAnswer(kept)) return toAnswer(call, kept);
  if (await first.isHandled()) throw inProgress();
  const { messageId, address, key } = first;
  const platformMessageId = (await platformIdMaker(deps, address))(messageId);
  return toAnswer(call, await waitForOtp(call, deps, { messageId, platformMessageId, address, idempotencyKey: key }));
}

/** The id at the network of a device's OTP, by its own. */
async function platformIdMaker({ store }: ApiDeps, address: DeviceAddress): Promise<(messageId: MessageId) => string> {
  const ids = platformIds((await readIdKey(store, address))!);
  return (messageId) => ids.make({ tag: parseMessageId(messageId)!.tag, recipient: 0, part: 0 });
}

function isAnswer(kept: Partial<OtpAnswer>): kept is OtpAnswer {
  return kept.messageId !== undefined;
}

function toAnswer({ body: { phone, code, language } }: OtpCall, { sentAt, ...ids }: OtpAnswer): Answer {
  const data = { ...ids, phone, code, language };
  return sentAt === undefined
    ? { status: 202, body: { message: 'OTP queued', data } }
    : { status: 200, body: { message: 'OTP sent', data: { ...data, sentAt } } };
}

function toSend({ body, token, requestId }: OtpCall, { clock }: ApiDeps): NewSend {
  const nowMs = clock.nowMs();
  return {
    kind: 'otp',
    priority: 'otp',
    content: { kind: 'text', text: otpText(body.code, body.language) },
    parts: 1,
    recipients: [body.phone],
    owner: token.owner,
    requestId,
    nowMs,
    expiresAtMs: nowMs + LIMITS.otpExpirySeconds * 1000,
    finishAtMs: nowMs + LIMITS.otpWaitSeconds * 1000,
  };
}
