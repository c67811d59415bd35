import { MAX_EVENT_ID_CHARACTERS } from '@gateway/contracts/events/event-id';
import Joi from 'joi';
import { operation } from '../../http/operation.js';
import { callApi, placeOf, targetOf } from './change-webhooks.js';

type ReplayBody = { ids: string[] } | { after: string; before?: string };

/** Tells events again: by their ids or those of requests, or all from one time (ISO 8601) until another. Safe to repeat. */
export const replayWebhook = operation<ReplayBody>({
  method: 'post',
  path: '/webhooks/:webhook/replay',
  for: 'operator',
  // Only how much there may be of it: what it may say is the API's to check.
  body: Joi.object<ReplayBody>({
    ids: Joi.array().items(Joi.string().max(MAX_EVENT_ID_CHARACTERS)).min(1).max(100),
    after: Joi.string().max(40),
    before: Joi.string().max(40),
  }),
  async handle(call, deps) {
    const path = `${placeOf(call)}/replay`;
    const { unknown } = await callApi(call, deps, { method: 'POST', path, json: call.body });
    return { body: { unknown }, audit: { action: 'webhook.replayed', target: targetOf(call) } };
  },
});
