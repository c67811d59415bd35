import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { makeWebhookSecret } from '@gateway/contracts/webhooks/signature';
import { DEFAULT_WEBHOOK_SETTINGS, type WebhookId, type WebhookSettings } from '@gateway/contracts/webhooks/webhook';
import type { Store } from '@gateway/store/core/store';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { createWebhook } from '@gateway/store/webhooks/webhooks';

interface MadeWebhook {
  url: string;
  settings?: Partial<WebhookSettings>;
  /** What it answered, the oldest first, a minute apart. With a 2xx among them it is active. */
  answers?: readonly number[];
  isFailing?: boolean;
  /** How many events it refuses while it takes others. */
  parked?: number;
}

/** An endpoint with a past. */
export async function makeWebhook(store: Store, wanted: MadeWebhook): Promise<WebhookId> {
  const { url, settings, answers = [], isFailing = false, parked = 0 } = wanted;
  const made = await createWebhook(store, 'main', {
    settings: { ...DEFAULT_WEBHOOK_SETTINGS, ...settings },
    target: { url, headers: { Authorization: 'Bearer secret' } },
    secrets: [{ secret: makeWebhookSecret('v1') }],
  });
  if (made === 'full') throw new Error('full');
  const { id, revision } = made;
  for (const [index, status] of answers.entries()) {
    const atMs = Date.now() - (answers.length - index) * 60_000;
    const answer = status < 300 ? '' : '{"error":"<b>try later</b>"}';
    // Those that fail in a row, and the success after them, are attempts of one request.
    const request = answers.slice(0, index).filter((each) => each < 300).length;
    const webhookId = `evt_01k9${String(request).padStart(22, '0')}`;
    const attempt = { webhookId, atMs, tookMs: 31 + index, status, error: null, answer };
    await recordAttempt(store, 'main', id, { attempt, verifiesRevision: status < 300 ? revision : undefined });
  }
  if (isFailing) {
    const breaker = JSON.stringify({ failures: 2, sinceMs: Date.now() - 2 * 60_000 });
    await store.redis.hset(workspaceKeys(store.space, 'main').webhook(id), { status: 'failing', breaker });
  }
  const keys = workspaceKeys(store.space, 'main');
  for (let index = 0; index < parked; index++) {
    const lines = [
      { failures: 3 + index, lastStatus: 422 },
      { entry: `1-${index}`, id: `evt_01k9${String(index).padStart(22, '0')}`, type: 'message.received' },
    ];
    const [key, sinceMs] = [`person${index}`, Date.now() - (index + 1) * 600_000];
    await store.redis.hset(keys.webhookParked(id), key, lines.map((line) => JSON.stringify(line)).join('\n'));
    await store.redis.zadd(keys.webhookParkedSince(id), sinceMs, key);
    await store.redis.zadd(keys.webhookParkedDue(id), Date.now() + 600_000, key);
  }
  return id;
}
