import { isDeviceId } from '@gateway/contracts/ids';
import { secretsAt } from '@gateway/contracts/webhooks/signature';
import {
  CUSTOM_HEADER,
  SUBSCRIBABLE_TYPES,
  WEBHOOK_LIMITS,
  WEBHOOK_STATUSES,
  type WebhookSettings,
} from '@gateway/contracts/webhooks/webhook';
import { ApiError } from '@gateway/runtime/errors';
import type { Webhook } from '@gateway/store/webhooks/webhooks';
import { Joi } from '../http/input/input-types.js';

export interface WebhookBody extends WebhookSettings {
  url: string;
  headers: Record<string, string>;
}

/** What the owner of an endpoint chooses; each with the same meaning when it is made and when it is changed. */
export const webhookFields = {
  url: Joi.httpUrl()
    .custom(readUrl)
    .description(
      'https, at any port, on the public internet. The operator may allow other networks, these also by http.',
    ),
  headers: Joi.object()
    .pattern(
      CUSTOM_HEADER,
      Joi.string()
        .max(WEBHOOK_LIMITS.maxHeaderCharacters)
        .pattern(/^[\x20-\x7e]*$/),
    )
    .max(WEBHOOK_LIMITS.maxHeaders)
    .custom(readHeaders)
    .description(
      'Up to 10 headers that are sent with each request, such as `Authorization`. Those of HTTP itself and of the signature cannot be set.',
    ),
  description: Joi.string().allow('').max(200).description('For people.'),
  types: Joi.array()
    .items(
      Joi.string()
        .valid(...SUBSCRIBABLE_TYPES)
        // All of them, for each that is wrong, would be long.
        .messages({ 'any.only': 'is no type of event that there is' }),
    )
    .min(1)
    .unique()
    .description(
      'What it is told. Without it all types but `message.<status>`: these are one request for each recipient and status, where ' +
        '`messages.updated` has up to 500 changes.',
    ),
  devices: Joi.array()
    .items(Joi.string().custom(readDevice))
    .min(1)
    .max(100)
    .unique()
    .allow(null)
    .description('Only what happens on these devices. `null`: on all of the workspace.'),
  content: Joi.string()
    .valid('full', 'none')
    .description(
      '`none`: what people write, their names, their files and what they reply to are left out. Every message is told as a text that is `null`.',
    ),
  numbers: Joi.string()
    .valid('full', 'masked')
    .description(
      '`masked`: most digits of phone numbers are left out, those of shared contacts too, and the number of a sender where it stands in a name ' +
        'or a text. Other numbers in what people write are not looked for: that is left out with `content: none`.',
    ),
  gatherSeconds: Joi.number()
    .integer()
    .min(1)
    .max(WEBHOOK_LIMITS.maxGatherSeconds)
    .description('How long changes of lists are gathered before they are told, if they are fewer than 500.'),
  order: Joi.string()
    .valid('recipient', 'strict')
    .description(
      '`recipient`: what your server refuses again and again while it takes other requests is put aside, with all that follows for the ' +
        'same recipient, and tried again by itself. `strict`: it holds up all that comes after it.',
    ),
  concurrency: Joi.number()
    .integer()
    .min(1)
    .max(WEBHOOK_LIMITS.maxConcurrency)
    .description(
      'How many requests at a time tell what has a request of its own, as `message.<status>`. Those of one recipient come one after the ' +
        'other. Without it: 1.',
    ),
};

/** An endpoint as it is shown: without its secret, and with the names of its headers only. */
export const webhookAnswer = {
  webhookId: Joi.string().required(),
  status: Joi.string()
    .valid(...WEBHOOK_STATUSES)
    .required()
    .description(
      '`unverified`: it gets nothing until its URL has answered a test with a 2xx. `failing`: the last attempt failed, and more ' +
        'follow. `disabled`: it answered 410, or failed for 72 hours. What happens meanwhile waits for 7 days.',
    ),
  url: Joi.string().required(),
  headers: Joi.array().items(Joi.string()).required().description('Names only.'),
  description: Joi.string().allow('').required(),
  types: Joi.array().items(Joi.string()).required(),
  devices: Joi.array().items(Joi.string()).allow(null).required(),
  content: Joi.string().required(),
  numbers: Joi.string().required(),
  gatherSeconds: Joi.number().integer().required(),
  order: Joi.string().required(),
  concurrency: Joi.number().integer().required(),
  createdAt: Joi.string().required().description('ISO 8601. What happened before is not told.'),
  verifiedAt: Joi.string().allow(null).required().description('ISO 8601.'),
  rotatedUntil: Joi.string()
    .allow(null)
    .required()
    .description('ISO 8601: until then requests are also signed with the secret that was replaced.'),
};

export const secretAnswer = Joi.string()
  .required()
  .description(
    'Verifies the requests (Standard Webhooks 1.0): shown only now. With `v1a` it is the public key (`whpk_`).',
  );

export function describeWebhook({ id, status, settings, target, secrets, createdAtMs, verifiedAtMs }: Webhook) {
  const [, replaced] = secretsAt(secrets, Date.now());
  const time = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    ...{ webhookId: id, status, url: target.url, headers: Object.keys(target.headers), ...settings },
    ...{ createdAt: time(createdAtMs), verifiedAt: time(verifiedAtMs), rotatedUntil: time(replaced?.endsAtMs) },
  };
}

/** Throws 404 when there is none. */
export function foundWebhook(webhook: Webhook | undefined): Webhook {
  if (!webhook) throw new ApiError('not_found');
  return webhook;
}

function readUrl(given: string): string {
  if (new URL(given).hash) throw new Error('must be a URL without a fragment');
  return given;
}

/** Which of two values of one name counts would be for the endpoint to guess. */
function readHeaders(given: Record<string, string>): Record<string, string> {
  const names = Object.keys(given);
  const different = new Set(names.map((name) => name.toLowerCase()));
  if (different.size < names.length) throw new Error('must have each name once, whatever its case');
  return given;
}

function readDevice(given: string): string {
  if (!isDeviceId(given)) throw new Error('must be the id of a device');
  return given;
}
