import { WEBHOOK_STATUSES } from '@gateway/contracts/webhooks/webhook';
import { ApiError } from '@gateway/runtime/errors';
import type { ListedWebhook } from '@gateway/store/webhooks/webhooks';
import { Joi } from '../http/input/input-types.js';

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
  reason: Joi.string()
    .allow(null)
    .required()
    .description(
      '`keys_unreadable`: URL, headers and secret are encrypted with a key that the gateway does not have. Nothing is posted until it has; ' +
        'if the key is lost, delete the endpoint and make it again. It can be read and deleted; all else is answered with 503.',
    ),
  url: Joi.string().allow(null).required().description('`null` with `keys_unreadable`.'),
  headers: Joi.array()
    .items(Joi.string())
    .allow(null)
    .required()
    .description('Names only. `null` with `keys_unreadable`.'),
  description: Joi.string().allow('').required(),
  types: Joi.array().items(Joi.string()).required(),
  devices: Joi.array().items(Joi.string()).allow(null).required(),
  content: Joi.string().required(),
  numbers: Joi.string().required(),
  gatherSeconds: Joi.number().integer().required(),
  order: Joi.string().required(),
  concurrency: Joi.number().integer().required(),
  createdAt: Joi.string().required().description('ISO 8601. What happened more than ten seconds before is not told.'),
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

/** Throws 404 when there is none. */
export function foundWebhook<W extends ListedWebhook>(webhook: W | undefined): W {
  if (!webhook) throw new ApiError('not_found');
  return webhook;
}
