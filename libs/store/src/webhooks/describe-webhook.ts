import type { Workspace } from '@gateway/contracts/ids';
import { secretsAt } from '@gateway/contracts/webhooks/signature';
import { type WebhookAttempt, wasTaken } from '@gateway/contracts/webhooks/webhook';
import { systemClock } from '@gateway/runtime/clock';
import type { Store } from '../core/store.js';
import { readDevices } from '../events/read-log.js';
import type { listParked } from './delivering/parked/parked.js';
import type { ListedWebhook } from './webhooks.js';

/** An endpoint as the API and the command line show it: without its secrets, and with the names of its headers only. */
export function describeWebhook(webhook: ListedWebhook) {
  const { id, status, settings, target, secrets = [], createdAtMs, verifiedAtMs } = webhook;
  const [, replaced] = secretsAt(secrets, systemClock.nowMs());
  const place = target
    ? { reason: null, url: target.url, headers: Object.keys(target.headers) }
    : { reason: 'keys_unreadable', url: null, headers: null };
  return {
    ...{ webhookId: id, status, ...place, ...settings },
    ...{ createdAt: time(createdAtMs), verifiedAt: time(verifiedAtMs), rotatedUntil: time(replaced?.endsAtMs) },
  };
}

/** A request to an endpoint, and what came back. */
export function describeAttempt(attempt: WebhookAttempt) {
  const { webhookId, atMs, tookMs, status, error, answer } = attempt;
  return {
    ...{ id: webhookId, at: new Date(atMs).toISOString(), tookMs },
    ...{ delivered: wasTaken(attempt), status, error, answer },
  };
}

type Parked = Awaited<ReturnType<typeof listParked>>[number];

/** What an endpoint refuses, of one recipient or writer each. What is told alone is put aside without its device: the log has it. */
export async function describeParked(store: Store, workspace: Workspace, parked: readonly Parked[]) {
  const devices = await readDevices(store, workspace, [...new Set(parked.map(({ events: [first] }) => first!.entry))]);
  return parked.map(({ sinceMs, dueMs, clock, count, events: [first] }) => {
    const { id, type, entry } = first!;
    // That something is missing is told of no device.
    const device = type === 'events.gap' ? null : (first!.device ?? devices.get(entry) ?? null);
    return {
      ...{ id, type, device, since: time(sinceMs), attempts: clock.failures ?? 0 },
      ...{ lastStatus: clock.lastStatus ?? null, nextAttemptAt: time(dueMs), waiting: count - 1 },
    };
  });
}

const time = (ms: number | null | undefined) => (typeof ms === 'number' ? new Date(ms).toISOString() : null);
