import { verifierOf } from '@gateway/contracts/webhooks/signature';
import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import { describeWebhook } from '@gateway/store/webhooks/describe-webhook';
import { rotateSecret as rotate } from '@gateway/store/webhooks/webhooks';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { MAX_WEBHOOK_BODY_BYTES } from './create-webhook.js';
import { foundWebhook, secretAnswer, webhookAnswer } from './webhook-fields.js';

interface RotateBody {
  overlapHours: number;
}

/** `POST /webhooks/{webhookId}/rotate`: a new secret, while the old one goes on signing for a while. */
export const rotateSecret: Endpoint<Record<string, never>, RotateBody> = {
  methods: ['post'],
  path: '/webhooks/:webhookId/rotate',
  bucket: 'webhooks',
  scope: 'webhooks',
  ofWorkspace: true,
  query: Joi.object<Record<string, never>>({}),
  body: Joi.object<RotateBody>({
    overlapHours: Joi.number()
      .min(0)
      .max(WEBHOOK_LIMITS.maxOverlapHours)
      .default(WEBHOOK_LIMITS.overlapHours)
      .description('How long requests carry the signatures of both. 0: the old secret is known to others.'),
  }),
  maxBodyBytes: MAX_WEBHOOK_BODY_BYTES,
  docs: {
    operationId: 'rotateWebhookSecret',
    summary: 'Rotate the secret of a webhook',
    description:
      'Makes a new secret of the same kind. For `overlapHours` requests are signed with both, so that your server can change at any ' +
      'moment. An older one ends at once. Do not repeat it without need: each call makes another secret.',
    example: { overlapHours: 24 },
    answer: {
      status: 200,
      description: 'The endpoint, and the new secret, which is shown only now.',
      body: Joi.object({ ...webhookAnswer, secret: secretAnswer }),
    },
    errors: ['not_found', 'not_confirmed'],
  },

  async handle({ params, body, workspace, logger }, { store, clock }) {
    const wanted = { overlapHours: body.overlapHours, nowMs: clock.nowMs() };
    const webhook = foundWebhook(await rotate(store, workspace, params.webhookId!, wanted));
    logger.info('webhook secret rotated', { webhookId: webhook.id, overlapHours: body.overlapHours });
    const secret = verifierOf(webhook.secrets[0]!.secret);
    const audit = { action: 'webhook.secret_rotated', target: webhook.id } as const;
    return { status: 200, body: { ...describeWebhook(webhook), secret }, audit };
  },
};
