import type { Workspace } from '@gateway/contracts/ids';
import { makeWebhookSecret } from '@gateway/contracts/webhooks/signature';
import { DEFAULT_WEBHOOK_SETTINGS, type WebhookId } from '@gateway/contracts/webhooks/webhook';
import type { Store } from '@gateway/store/core/store';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { createWebhook } from '@gateway/store/webhooks/webhooks';

/** Makes an endpoint that has passed its test. */
export async function createActiveWebhook(
  store: Store,
  url: string,
  workspace: Workspace = 'main',
  settings: Partial<typeof DEFAULT_WEBHOOK_SETTINGS> = {},
): Promise<WebhookId> {
  const made = await createWebhook(store, workspace, {
    settings: { ...DEFAULT_WEBHOOK_SETTINGS, ...settings },
    ...{ target: { url, headers: {} }, secrets: [{ secret: makeWebhookSecret('v1') }] },
  });
  if (made === 'full') throw new Error('full');
  const attempt = { webhookId: 'evt_0', atMs: 0, tookMs: 0, status: 200, error: null, answer: '' };
  await recordAttempt(store, workspace, made.id, { attempt, verifiesRevision: made.revision });
  return made.id;
}
