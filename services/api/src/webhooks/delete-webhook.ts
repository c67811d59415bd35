import { deleteWebhook as remove } from '@gateway/store/webhooks/webhooks';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';

type Nothing = Record<string, never>;

/** `DELETE /webhooks/{webhookId}`: with all that waits for it. Safe to repeat. */
export const deleteWebhook: Endpoint<Nothing, Nothing> = {
  methods: ['delete'],
  path: '/webhooks/:webhookId',
  bucket: 'webhooks',
  scope: 'webhooks',
  ofWorkspace: true,
  query: Joi.object<Nothing>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Deletes an endpoint with its secret, and all that waits for it. Safe to repeat.',
    answer: {
      status: 200,
      description: 'There is no such endpoint.',
      body: Joi.object({
        webhookId: Joi.string().required(),
        deleted: Joi.boolean().required().description('Whether there was one.'),
      }),
    },
    // For what is no percent-encoding.
    errors: ['not_found', 'not_confirmed'],
  },

  async handle({ params, workspace, logger }, { store }) {
    const webhookId = params.webhookId!;
    const deleted = await remove(store, workspace, webhookId);
    if (deleted) logger.info('webhook deleted', { webhookId });
    const audit = { action: 'webhook.deleted', target: webhookId } as const;
    return { status: 200, body: { webhookId, deleted }, ...(deleted && { audit }) };
  },
};
