import { type WebhookChangeInput, webhookChangeInput } from '@gateway/egress/input/webhook-input';
import { describeWebhook } from '@gateway/store/webhooks/describe-webhook';
import { changeWebhook as change } from '@gateway/store/webhooks/webhooks';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { MAX_WEBHOOK_BODY_BYTES, refuseUrl } from './create-webhook.js';
import { foundWebhook, webhookAnswer } from './webhook-fields.js';

/** `PATCH /webhooks/{webhookId}`: changes what is given. Safe to repeat. */
export const changeWebhook: Endpoint<Record<string, never>, WebhookChangeInput> = {
  methods: ['patch'],
  path: '/webhooks/:webhookId',
  bucket: 'webhooks',
  scope: 'webhooks',
  ofWorkspace: true,
  query: Joi.object<Record<string, never>>({}),
  body: webhookChangeInput,
  maxBodyBytes: MAX_WEBHOOK_BODY_BYTES,
  docs: {
    operationId: 'changeWebhook',
    summary: 'Change a webhook',
    description:
      'Changes what is given and leaves all else. With another `url` or other `headers` the endpoint must pass its test again before it ' +
      'gets anything; what happens meanwhile waits. The next request is made with what was changed, and an answer to one before it says ' +
      'nothing of the endpoint any more. A repeat of a request has the same `webhook-id` and the same body, with two exceptions: what is not to ' +
      'be told any more, after a change to `content: none` or `numbers: masked` or when a person was forgotten, and what a person wrote that ' +
      'went for room or after seven days, is missing from it; and what was not told before is in it after a change to `content: full` or ' +
      '`numbers: full`. Safe to repeat.',
    example: { types: ['messages.updated', 'send.finished'] },
    answer: { status: 200, description: 'The endpoint as it is now.', body: Joi.object(webhookAnswer) },
    errors: ['not_found', 'not_confirmed'],
  },

  async handle({ params, body, workspace, logger }, { store, webhookPolicy }) {
    const { url, headers, ...settings } = body;
    if (url !== undefined) refuseUrl(url, webhookPolicy);
    const target = { ...(url !== undefined && { url }), ...(headers && { headers }) };
    const wanted = { settings, ...(Object.keys(target).length > 0 && { target }) };
    const changed = foundWebhook(await change(store, workspace, params.webhookId!, wanted));
    logger.info('webhook changed', { webhookId: changed.id });
    const audit = { action: 'webhook.changed', target: changed.id } as const;
    return { status: 200, body: describeWebhook(changed), audit };
  },
};
