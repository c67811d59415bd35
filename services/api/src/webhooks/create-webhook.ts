import { makeWebhookSecret, verifierOf } from '@gateway/contracts/webhooks/signature';
import { DEFAULT_WEBHOOK_SETTINGS } from '@gateway/contracts/webhooks/webhook';
import { shownHost } from '@gateway/egress/egress-error';
import { assertAllowed, type FetchPolicy } from '@gateway/egress/fetch-policy';
import { type NewWebhookInput, newWebhookInput } from '@gateway/egress/input/webhook-input';
import { ApiError } from '@gateway/runtime/errors';
import { describeWebhook } from '@gateway/store/webhooks/describe-webhook';
import { createWebhook as create } from '@gateway/store/webhooks/webhooks';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { secretAnswer, webhookAnswer } from './webhook-fields.js';

export const MAX_WEBHOOK_BODY_BYTES = 64 * 1024;

/** `POST /webhooks`: an endpoint that is told what happens, once it has passed its test. */
export const createWebhook: Endpoint<Record<string, never>, NewWebhookInput> = {
  methods: ['post'],
  path: '/webhooks',
  bucket: 'webhooks',
  scope: 'webhooks',
  ofWorkspace: true,
  query: Joi.object<Record<string, never>>({}),
  body: newWebhookInput,
  maxBodyBytes: MAX_WEBHOOK_BODY_BYTES,
  docs: {
    operationId: 'createWebhook',
    summary: 'Create a webhook',
    description:
      'Creates an endpoint that is told what happens in the workspace from now on. Keep the secret, let your server verify with it, ' +
      'and then ask for the test: until that is answered with a 2xx, nothing else is sent. A workspace has up to 50.',
    example: { url: 'https://example.com/hooks/messages', types: ['messages.updated', 'message.received'] },
    answer: {
      status: 201,
      description: 'The endpoint, and the secret that is shown only now.',
      body: Joi.object({ ...webhookAnswer, secret: secretAnswer }),
    },
    errors: ['webhooks_full', 'not_confirmed'],
  },

  async handle({ body, workspace, token: { keyId }, logger }, { store, headroom, webhookPolicy }) {
    await headroom.refuseWithoutRoom('urgent');
    const { url, headers = {}, signature, ...settings } = body;
    refuseUrl(url, webhookPolicy);
    const secret = makeWebhookSecret(signature);
    const wanted = {
      settings: { ...DEFAULT_WEBHOOK_SETTINGS, ...settings },
      target: { url, headers },
      secrets: [{ secret }],
    };
    const made = await create(store, workspace, wanted, { keyId });
    if (made === 'full') throw new ApiError('webhooks_full');
    logger.info('webhook created', { webhookId: made.id, host: shownHost(new URL(url).hostname) });
    const audit = { action: 'webhook.created', target: made.id } as const;
    return { status: 201, body: { ...describeWebhook(made), secret: verifierOf(secret) }, audit };
  },
};

/** Early, for what the URL itself says; where its name leads is checked at each request. Throws 400. */
export function refuseUrl(url: string, policy: FetchPolicy): void {
  try {
    assertAllowed(new URL(url), policy);
  } catch {
    const message = 'must not lead to a network that is not allowed, or there without https';
    throw new ApiError('invalid_request', { details: [{ path: ['url'], message }] });
  }
}
