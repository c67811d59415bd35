import { describeWebhook } from '@gateway/store/webhooks/describe-webhook';
import { listWebhooks as list } from '@gateway/store/webhooks/webhooks';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { webhookAnswer } from './webhook-fields.js';

type Nothing = Record<string, never>;

/** `GET /webhooks`: all endpoints of the workspace. */
export const listWebhooks: Endpoint<Nothing, Nothing> = {
  methods: ['get'],
  path: '/webhooks',
  bucket: 'webhooks',
  scope: 'webhooks',
  readsMuch: true,
  ofWorkspace: true,
  query: Joi.object<Nothing>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'listWebhooks',
    summary: 'List webhooks',
    description: 'All webhook endpoints of the workspace, the oldest first.',
    answer: {
      status: 200,
      description: 'All of them: 50 at most.',
      body: Joi.object({ webhooks: Joi.array().items(Joi.object(webhookAnswer)).required() }),
    },
    errors: [],
  },

  async handle({ workspace }, { store }) {
    return { status: 200, body: { webhooks: (await list(store, workspace)).map(describeWebhook) } };
  },
};
