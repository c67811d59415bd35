import { MAX_EVENT_ID_CHARACTERS } from '@gateway/contracts/events/event-id';
import Joi from 'joi';
import { operation } from '../../http/operation.js';
import { callApi, placeOf, targetOf } from './change-webhooks.js';

/** Tells events again, by their ids or those of requests. Safe to repeat. */
export const replayWebhook = operation<{ ids: string[] }>({
  method: 'post',
  path: '/webhooks/:webhook/replay',
  for: 'operator',
  body: Joi.object({ ids: Joi.array().items(Joi.string().max(MAX_EVENT_ID_CHARACTERS)).min(1).max(100).required() }),
  async handle(call, deps) {
    const path = `${placeOf(call)}/replay`;
    const { unknown } = await callApi(call, deps, { method: 'POST', path, json: call.body });
    return { body: { unknown }, audit: { action: 'webhook.replayed', target: targetOf(call) } };
  },
});
