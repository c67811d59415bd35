import type { AuditAction } from '@gateway/contracts/console/users';
import { isWebhookId, WEBHOOK_LIMITS, type WebhookId } from '@gateway/contracts/webhooks/webhook';
import Joi from 'joi';
import type { DashboardDeps } from '../../dashboard-deps.js';
import { ConsoleError } from '../../http/console-error.js';
import { type Call, type Operation, operation } from '../../http/operation.js';

interface WebhookBody {
  url?: string;
  headers?: Record<string, string>;
  description?: string;
  types?: string[];
  devices?: string[] | null;
  content?: string;
  numbers?: string;
  gatherSeconds?: number;
  order?: string;
  concurrency?: number;
}

/** Only how much there may be of it: what it may say is the API's to check. */
const fields = {
  url: Joi.string().max(WEBHOOK_LIMITS.maxUrlCharacters),
  headers: Joi.object()
    .pattern(Joi.string().max(100), Joi.string().allow('').max(WEBHOOK_LIMITS.maxHeaderCharacters))
    .max(WEBHOOK_LIMITS.maxHeaders),
  description: Joi.string().allow('').max(200),
  types: Joi.array().items(Joi.string().max(100)).max(100),
  devices: Joi.array().items(Joi.string().max(100)).max(100).allow(null),
  content: Joi.string().max(20),
  numbers: Joi.string().max(20),
  gatherSeconds: Joi.number(),
  order: Joi.string().max(20),
  concurrency: Joi.number(),
};

/** Answers with the secret, or the public key, this once. */
export const createWebhook = operation<WebhookBody & { signature?: string }>({
  method: 'post',
  path: '/webhooks',
  for: 'operator',
  body: Joi.object({ ...fields, signature: Joi.string().max(20) }),
  async handle(call, deps) {
    const { webhookId, secret } = await callApi(call, deps, { method: 'POST', path: '', json: call.body });
    return {
      status: 201,
      body: { id: webhookId, secret },
      audit: { action: 'webhook.created', target: String(webhookId) },
    };
  },
});

/** Changes what is given. */
export const changeWebhook = operation<WebhookBody>({
  method: 'post',
  path: '/webhooks/:webhook/change',
  for: 'operator',
  body: Joi.object(fields),
  async handle(call, deps) {
    await callApi(call, deps, { method: 'PATCH', path: placeOf(call), json: call.body });
    return { body: {}, audit: { action: 'webhook.changed', target: targetOf(call) } };
  },
});

/** Posts to it at once, and answers with what came back. */
export const testWebhook = operation({
  method: 'post',
  path: '/webhooks/:webhook/test',
  for: 'operator',
  async handle(call, deps) {
    const path = `${placeOf(call)}/test`;
    const answer = await callApi(call, deps, { method: 'POST', path });
    const { delivered, tookMs, status, error, answer: said, webhookStatus } = answer;
    return {
      body: { result: { delivered, tookMs, status, error, answer: said, webhookStatus } },
      audit: { action: 'webhook.tested', target: targetOf(call) },
    };
  },
});

/** Answers with the new secret, this once. */
export const rotateWebhook = operation<{ overlapHours: number }>({
  method: 'post',
  path: '/webhooks/:webhook/rotate',
  for: 'operator',
  body: Joi.object({ overlapHours: Joi.number().min(0).max(WEBHOOK_LIMITS.maxOverlapHours).required() }),
  async handle(call, deps) {
    const path = `${placeOf(call)}/rotate`;
    const { secret } = await callApi(call, deps, { method: 'POST', path, json: call.body });
    return { body: { secret }, audit: { action: 'webhook.secret_rotated', target: targetOf(call) } };
  },
});

export const pauseWebhook = deed('pause', 'webhook.paused');
export const resumeWebhook = deed('resume', 'webhook.resumed');

/** Safe to repeat. */
export const deleteWebhook = operation({
  method: 'post',
  path: '/webhooks/:webhook/delete',
  for: 'operator',
  async handle(call, deps) {
    const { deleted } = await callApi(call, deps, { method: 'DELETE', path: placeOf(call) });
    return { body: {}, ...(deleted === true && { audit: { action: 'webhook.deleted', target: targetOf(call) } }) };
  },
});

/** Something that needs to be told nothing. Safe to repeat. */
function deed(name: string, action: AuditAction): Operation {
  return operation({
    method: 'post',
    path: `/webhooks/:webhook/${name}`,
    for: 'operator',
    async handle(call, deps) {
      await callApi(call, deps, { method: 'POST', path: `${placeOf(call)}/${name}` });
      return { body: {}, audit: { action, target: targetOf(call) } };
    },
  });
}

export function targetOf({ params: { webhook = '' } }: Call<unknown>): WebhookId {
  if (!isWebhookId(webhook)) throw new ConsoleError('not_found');
  return webhook;
}

export function placeOf(call: Call<unknown>): string {
  return `/${targetOf(call)}`;
}

/** As one of the whole workspace. @param what.path below `/webhooks`. */
export function callApi(
  { user, requestId, signal }: Call<unknown>,
  { api }: DashboardDeps,
  { path, ...what }: { method: 'POST' | 'PATCH' | 'DELETE'; path: string; json?: unknown },
) {
  return api.call({ ...what, path: `/webhooks${path}`, user: user.name, requestId, signal });
}
