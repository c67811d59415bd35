import { describeWebhook } from '@gateway/store/webhooks/describe-webhook';
import * as store from '@gateway/store/webhooks/webhooks';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { foundWebhook, webhookAnswer } from './webhook-fields.js';

type Nothing = Record<string, never>;

const common = {
  methods: ['post'],
  bucket: 'webhooks',
  scope: 'webhooks',
  ofWorkspace: true,
  query: Joi.object<Nothing>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
} as const;
const documented = {
  answer: { status: 200, description: 'The endpoint as it is now.', body: Joi.object(webhookAnswer) },
  errors: ['not_found', 'not_confirmed'],
} as const;

/** `POST /webhooks/{webhookId}/pause`. Safe to repeat. */
export const pauseWebhook: Endpoint<Nothing, Nothing> = {
  ...common,
  path: '/webhooks/:webhookId/pause',
  docs: {
    operationId: 'pauseWebhook',
    summary: 'Pause a webhook',
    description: 'Nothing more is sent to the endpoint. What happens meanwhile waits, for 7 days. Safe to repeat.',
    ...documented,
  },

  async handle({ params, workspace, logger }, deps) {
    const paused = foundWebhook(await store.pauseWebhook(deps.store, workspace, params.webhookId!));
    logger.info('webhook paused', { webhookId: paused.id });
    const audit = { action: 'webhook.paused', target: paused.id } as const;
    return { status: 200, body: describeWebhook(paused), audit };
  },
};

/** `POST /webhooks/{webhookId}/resume`. Safe to repeat. */
export const resumeWebhook: Endpoint<Nothing, Nothing> = {
  ...common,
  path: '/webhooks/:webhookId/resume',
  docs: {
    operationId: 'resumeWebhook',
    summary: 'Resume a webhook',
    description:
      'An endpoint that is paused or disabled goes on where it was. One whose URL never passed its test must do so first. Safe to repeat.',
    ...documented,
  },

  async handle({ params, workspace, logger }, deps) {
    const resumed = foundWebhook(await store.resumeWebhook(deps.store, workspace, params.webhookId!));
    logger.info('webhook resumed', { webhookId: resumed.id });
    const audit = { action: 'webhook.resumed', target: resumed.id } as const;
    return { status: 200, body: describeWebhook(resumed), audit };
  },
};
