import { describeWebhook } from '@gateway/store/webhooks/describe-webhook';
import { findWebhook } from '@gateway/store/webhooks/webhooks';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { foundWebhook, webhookAnswer } from './webhook-fields.js';

type Nothing = Record<string, never>;

/** `GET /webhooks/{webhookId}` */
export const showWebhook: Endpoint<Nothing, Nothing> = {
  methods: ['get'],
  path: '/webhooks/:webhookId',
  bucket: 'webhooks',
  scope: 'webhooks',
  ofWorkspace: true,
  query: Joi.object<Nothing>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'showWebhook',
    summary: 'Show a webhook',
    description: 'One endpoint, without its secret.',
    answer: { status: 200, description: 'The endpoint.', body: Joi.object(webhookAnswer) },
    errors: ['not_found'],
  },

  async handle({ params, workspace }, { store }) {
    return { status: 200, body: describeWebhook(foundWebhook(await findWebhook(store, workspace, params.webhookId!))) };
  },
};
