import { makeWebhookSecret } from '@gateway/contracts/webhooks/signature';
import type { WebhookId, WebhookSettings } from '@gateway/contracts/webhooks/webhook';
import type { Store } from '@gateway/store/core/store';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { createWebhook } from '@gateway/store/webhooks/webhooks';

export const WORKSPACE = 'main';

/** Makes a webhook that has passed its test. */
export async function makeKnown(
  store: Store,
  { url, settings }: { url: string; settings: WebhookSettings },
): Promise<WebhookId> {
  const secrets = [{ secret: makeWebhookSecret('v1') }];
  const made = await createWebhook(store, WORKSPACE, { settings, target: { url, headers: {} }, secrets });
  if (made === 'full') throw new Error('there are as many webhooks as there may be');
  const attempt = { webhookId: 'evt_0', atMs: 0, tookMs: 0, status: 200, error: null, answer: '' };
  await recordAttempt(store, WORKSPACE, made.id, { attempt, verifiesRevision: made.revision });
  return made.id;
}
