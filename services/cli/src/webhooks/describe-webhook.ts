import type { Webhook } from '@gateway/store/webhooks/webhooks';

/** Without its secrets and the values of its headers. */
export function describeWebhook({ id, status, target, settings, createdAtMs, verifiedAtMs }: Webhook) {
  return {
    ...{ webhookId: id, status, url: target.url, headers: Object.keys(target.headers), ...settings },
    createdAt: new Date(createdAtMs).toISOString(),
    verifiedAt: verifiedAtMs === undefined ? undefined : new Date(verifiedAtMs).toISOString(),
  };
}

/** Throws when there is none. */
export function foundWebhook(id: string, webhook: Webhook | undefined): Webhook {
  if (!webhook) throw noSuchWebhook(id);
  return webhook;
}

export function noSuchWebhook(id: string): Error {
  return new Error(`there is no webhook ${id}`);
}
