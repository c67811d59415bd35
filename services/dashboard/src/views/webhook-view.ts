import { mayAct, type UserRole } from '@gateway/contracts/console/users';
import type { DeliveryView, ParkedView, WebhookPage, WebhookView } from '@gateway/contracts/console/webhook-views';
import type { Workspace } from '@gateway/contracts/ids';
import { schemeOf, secretsAt } from '@gateway/contracts/webhooks/signature';
import { type WebhookAttempt, type WebhookId, wasTaken } from '@gateway/contracts/webhooks/webhook';
import type { Store } from '@gateway/store/core/store';
import { listParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { findWebhook, type ListedWebhook, listWebhooks } from '@gateway/store/webhooks/webhooks';

export interface WebhookDeps {
  store: Store;
  workspace: Workspace;
  nowMs: () => number;
}

/** Requests that a list looks back for one that was taken: each has to be decrypted. */
const LOOKED_AT = 10;
const SHOWN = 50;
const SHOWN_PARKED = 100;

/** All of the workspace, the oldest first. */
export async function readWebhookViews({ store, workspace, nowMs }: WebhookDeps): Promise<WebhookView[]> {
  const webhooks = await listWebhooks(store, workspace);
  return Promise.all(
    webhooks.map(async (webhook) =>
      describe(webhook, await listAttempts(store, workspace, webhook.id, LOOKED_AT), nowMs()),
    ),
  );
}

/** `null` when there is none. */
export async function readWebhookPage(deps: WebhookDeps, id: WebhookId): Promise<WebhookPage | null> {
  const { store, workspace, nowMs } = deps;
  const webhook = await findWebhook(store, workspace, id);
  if (!webhook) return null;
  const attempts = await listAttempts(store, workspace, id, SHOWN);
  const parked = await listParked(store, { workspace, id }, { limit: SHOWN_PARKED, ofEach: 1 });
  return {
    webhook: describe(webhook, attempts, nowMs()),
    deliveries: countAttempts(attempts),
    parked: parked.map(describeParked),
  };
}

/** As a user of this role may see it. */
export function showWebhookTo(role: UserRole, view: WebhookView): WebhookView {
  if (mayAct(role, 'operator')) return view;
  const { url: _, ...rest } = view;
  return rest;
}

export function showPageTo(role: UserRole, page: WebhookPage): WebhookPage {
  if (mayAct(role, 'operator')) return page;
  // An answer may repeat what was posted.
  const deliveries = page.deliveries.map((delivery) => ({ ...delivery, answer: '' }));
  return { ...page, webhook: showWebhookTo(role, page.webhook), deliveries };
}

function describe(webhook: ListedWebhook, attempts: readonly WebhookAttempt[], nowMs: number): WebhookView {
  const { id, status, settings, target, secrets, createdAtMs, verifiedAtMs, failingSinceMs } = webhook;
  const lastSuccessAtMs = attempts.find(wasTaken)?.atMs;
  const rotatedUntilMs = secretsAt(secrets ?? [], nowMs)[1]?.endsAtMs;
  return {
    ...{ id, status, headers: Object.keys(target?.headers ?? {}), ...settings, createdAtMs },
    ...(target && { host: new URL(target.url).host, url: target.url }),
    ...(secrets && { signature: schemeOf(secrets[0]!.secret) }),
    ...(verifiedAtMs !== undefined && { verifiedAtMs }),
    ...(failingSinceMs !== undefined && { failingSinceMs }),
    ...(lastSuccessAtMs !== undefined && { lastSuccessAtMs }),
    ...(rotatedUntilMs !== undefined && { rotatedUntilMs }),
  };
}

function describeParked(parked: Awaited<ReturnType<typeof listParked>>[number]): ParkedView {
  const { sinceMs, dueMs, clock, count, events } = parked;
  const { id = '', type = '' } = events[0] ?? {};
  return {
    ...{ id, type, sinceMs, attempts: clock.failures ?? 0, waiting: count - 1 },
    ...(clock.lastStatus !== undefined && { lastStatus: clock.lastStatus }),
    ...(dueMs !== null && { nextAttemptMs: dueMs }),
  };
}

/** @param attempts the newest first. */
function countAttempts(attempts: readonly WebhookAttempt[]): DeliveryView[] {
  const counts = new Map<string, number>();
  const counted = attempts.toReversed().map((each) => {
    const attempt = (counts.get(each.webhookId) ?? 0) + 1;
    counts.set(each.webhookId, attempt);
    return { ...each, attempt };
  });
  return counted.reverse();
}
