import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import { describeAttempt } from '@gateway/store/webhooks/describe-webhook';
import { listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { findWebhook } from '@gateway/store/webhooks/webhooks';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { attemptAnswer } from './attempt-fields.js';
import { foundWebhook } from './webhook-fields.js';

interface ListQuery {
  limit: number;
}

/** `GET /webhooks/{webhookId}/deliveries`: the latest attempts. */
export const listDeliveries: Endpoint<ListQuery, Record<string, never>> = {
  methods: ['get'],
  path: '/webhooks/:webhookId/deliveries',
  bucket: 'webhooks',
  scope: 'webhooks',
  readsMuch: true,
  ofWorkspace: true,
  query: Joi.object<ListQuery>({
    limit: Joi.number().integer().min(1).max(WEBHOOK_LIMITS.keptAttempts).default(50).description('How many.'),
  }),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'listWebhookDeliveries',
    summary: 'List deliveries of a webhook',
    description:
      'The latest requests to an endpoint and what it answered, the newest first. 200 of each endpoint are kept; ' +
      'those are left out that are encrypted with a key that the gateway does not have.',
    answer: {
      status: 200,
      description: 'The newest first.',
      body: Joi.object({ deliveries: Joi.array().items(Joi.object(attemptAnswer)).required() }),
    },
    errors: ['not_found'],
  },

  async handle({ params, query, workspace }, { store }) {
    const { id } = foundWebhook(await findWebhook(store, workspace, params.webhookId!));
    const attempts = await listAttempts(store, workspace, id, query.limit);
    return { status: 200, body: { deliveries: attempts.map(describeAttempt) } };
  },
};
