import Joi from 'joi';
import { INBOUND_MEDIA_TYPES } from '../content/inbound-content.js';
import { SEND_KINDS } from '../content/message-content.js';
import { RESTRICTIONS } from '../devices/restriction.js';
import { OPT_OUT_SOURCES } from '../people/opt-outs.js';
import { RECIPIENT_STATUSES } from '../sends/statuses.js';

/** What becomes of a recipient, in names of events. */
const OUTCOMES = RECIPIENT_STATUSES.filter((status) => status !== 'queued');

/** One request per recipient: only for those who name them. */
const MESSAGE_TYPES = OUTCOMES.map((status) => `message.${status}`);
/** Told to all who want events, unless they choose others. */
export const DEFAULT_TYPES: readonly string[] = [
  ...['messages.updated', 'send.finished', 'message.received'],
  ...OUTCOMES.map((status) => `otp.${status}`),
  ...['device.connected', 'device.interrupted', 'device.disconnected', 'device.restricted', 'device.unrestricted'],
  ...['optout.added', 'optout.removed', 'events.gap'],
  ...['webhook.test', 'webhook.failing', 'webhook.recovered', 'webhook.disabled'],
];
export const EVENT_TYPES: readonly string[] = [...DEFAULT_TYPES, ...MESSAGE_TYPES];

export interface GatewayEvent {
  id: string;
  type: string;
  version: 1;
  /** ISO 8601. */
  timestamp: string;
  /** `null`: it concerns the workspace, or several devices. */
  device: string | null;
  data: Record<string, unknown>;
  /** Of an example: nothing of it has happened. */
  test?: true;
}

/** A row of `messages.updated`, and the data of `message.<status>` and `otp.<status>`. */
export interface ChangeData {
  /** The same however often, and in whatever company, it is told. */
  id: string;
  device: string;
  messageId: string;
  requestId: string;
  kind: string;
  index: number;
  /** Digits; `null` when the person was forgotten. */
  to: string | null;
  status: string;
  error: string | null;
  at: string;
  platformMessageIds: string[];
}

const digits = Joi.string()
  .pattern(/^(?:\d{7,15}|(?:\d{3})?\*{3}(?:\d{2})?)$/)
  .description('Digits; `447***23` for webhooks with `numbers: masked`.');
const time = Joi.string().isoDate();
const platformId = Joi.string().min(1).max(255);

const change = Joi.object({
  id: Joi.string().required().description('The same however often it is told: drop those that you have.'),
  device: Joi.string()
    .required()
    .description('Changes of several devices may come in one event, whose own is `null` then.'),
  messageId: Joi.string().required(),
  requestId: Joi.string().required().description('The `X-Request-Id` of the call that made the send.'),
  kind: Joi.string()
    .valid(...SEND_KINDS)
    .required(),
  index: Joi.number().integer().min(0).required().description('Place of the recipient in the request.'),
  to: digits.allow(null).required(),
  status: Joi.string()
    .valid(...OUTCOMES)
    .required(),
  error: Joi.string().allow(null).required(),
  at: time.required(),
  platformMessageIds: Joi.array()
    .items(platformId)
    .required()
    .description(
      'One per part; none where the key that makes them is lost: an hour later the change is told without it, under another `id`.',
    ),
});

const counts = Joi.object(
  Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, Joi.number().integer().min(0).required()])),
);
const reference = Joi.object({
  platformMessageId: platformId.required(),
  messageId: Joi.string().description(
    'Of the send, if it is a message of this device whose send was kept when this came.',
  ),
});
const media = Joi.object({
  id: Joi.string().required(),
  mimeType: Joi.string().required(),
  bytes: Joi.number().integer().min(0).required(),
  sha256: Joi.string().required(),
  seconds: Joi.number().integer().min(0),
  filename: Joi.string(),
  url: Joi.string().required().description('Path below the API, for a token with the scope `events`.'),
});
const text = Joi.string().allow('', null);
const content = Joi.alternatives().try(
  Joi.object({
    type: Joi.string().valid('text').required(),
    text: text
      .required()
      .description(
        '`null`: what was written, a text or anything else, is not kept any more (after 7 days, earlier if people write more than there is room for, or as they were forgotten), or is not told to this webhook (`content`).',
      ),
  }),
  Joi.object({
    type: Joi.string()
      .valid(...INBOUND_MEDIA_TYPES)
      .required(),
    text,
    voice: Joi.boolean(),
    media: media.required(),
  }),
  Joi.object({
    type: Joi.string().valid('location').required(),
    latitude: Joi.number().required(),
    longitude: Joi.number().required(),
    name: Joi.string(),
    text,
  }),
  Joi.object({
    type: Joi.string().valid('contact').required(),
    contacts: Joi.array()
      .items(
        Joi.object({ name: Joi.string().allow('').required(), phones: Joi.array().items(Joi.string()).required() }),
      )
      .required(),
    text,
  }),
  Joi.object({
    type: Joi.string().valid('reaction').required(),
    emoji: Joi.string().allow(null).required(),
    to: reference.required(),
  }),
  Joi.object({
    type: Joi.string().valid('edited').required(),
    to: reference.required(),
    text: text.description('The new words; `null` where the network gives them sealed with a secret that is not kept.'),
  }),
  Joi.object({ type: Joi.string().valid('pollVote', 'deleted').required(), to: reference.required() }),
  Joi.object({ type: Joi.string().valid('unsupported').required(), text }),
);

const ofWebhook = {
  webhookId: Joi.string().required(),
  since: time.required().description('When its failures began.'),
  lastStatus: Joi.number().integer().allow(null).required().description('Of HTTP; `null`: nothing was answered.'),
};

const outcome = (types: readonly string[]) => types.map((type) => [type, change] as const);

/** What each event says in `data`, by its type. */
export const EVENT_DATA: Readonly<Record<string, Joi.ObjectSchema>> = Object.fromEntries([
  ['messages.updated', Joi.object({ changes: Joi.array().items(change).min(1).required() })],
  ...outcome(MESSAGE_TYPES),
  ...outcome(OUTCOMES.map((status) => `otp.${status}`)),
  [
    'send.finished',
    Joi.object({
      ...{ messageId: Joi.string().required(), requestId: Joi.string().required() },
      ...{ recipients: Joi.number().integer().min(1).required(), counts: counts.required() },
    }),
  ],
  [
    'message.received',
    Joi.object({
      platformMessageId: platformId.required(),
      from: Joi.string()
        .allow(null)
        .required()
        .description('Digits, or `digits@lid` where the network shows no number.'),
      name: Joi.string().allow(null).required(),
      at: time.required(),
      content: content.required(),
      replyTo: reference.allow(null).required(),
    }),
  ],
  [
    'device.connected',
    Joi.object({
      status: 'connected',
      phone: digits.allow(null).required(),
      name: Joi.string().allow(null).required(),
      since: time.required(),
    }),
  ],
  [
    'device.interrupted',
    Joi.object({ status: 'connecting', reason: Joi.string().required(), notBefore: time.allow(null).required() }),
  ],
  [
    'device.disconnected',
    Joi.object({
      ...{ status: 'disconnected', reason: Joi.string().required(), since: time.required() },
      phone: Joi.string().allow(null).required().description('Of the account that it had, if it is known.'),
    }),
  ],
  [
    'device.restricted',
    Joi.object({
      kind: Joi.string()
        .valid(...Object.keys(RESTRICTIONS))
        .required(),
      until: time.allow(null).required(),
    }),
  ],
  ['device.unrestricted', Joi.object({})],
  ...['optout.added', 'optout.removed'].map((type) => [
    type,
    Joi.object({
      phones: Joi.array().items(Joi.string()).min(1).max(1_000).required(),
      source: Joi.string()
        .valid(...OPT_OUT_SOURCES)
        .required(),
    }),
  ]),
  [
    'events.gap',
    Joi.object({
      missing: Joi.number()
        .integer()
        .min(1)
        .allow(null)
        .required()
        .description(
          'Changes that were not kept, about; `null`: it is not known how many. Read what you miss from `GET /messages`.',
        ),
    }),
  ],
  ['webhook.test', Joi.object({ webhookId: Joi.string().required() })],
  [
    'webhook.failing',
    Joi.object({ ...ofWebhook, disabledAt: time.required().description('If it goes on, at the earliest.') }),
  ],
  ...['webhook.recovered', 'webhook.disabled'].map((type) => [type, Joi.object(ofWebhook)]),
] as [string, Joi.ObjectSchema][]);

/** An event of a type that is documented, as it is told. */
export const eventSchema = (type: string): Joi.ObjectSchema =>
  Joi.object({
    id: Joi.string()
      .pattern(/^evt_[A-Za-z0-9_-]+$/)
      .required(),
    type: Joi.string().valid(type).required(),
    version: Joi.number().valid(1).required(),
    timestamp: time.required(),
    device: Joi.string().allow(null).required(),
    data: EVENT_DATA[type]!.required(),
    test: Joi.boolean()
      .valid(true)
      .description('Only on an example that the operator had posted: nothing of it has happened.'),
  });
