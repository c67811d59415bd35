import type { ListedWebhook } from '@gateway/store/webhooks/webhooks';

/** Without its secrets and the values of its headers. */
export function describeWebhook({ id, status, target, settings, createdAtMs, verifiedAtMs }: ListedWebhook) {
  const place = target
    ? { url: target.url, headers: Object.keys(target.headers) }
    : { reason: 'keys_unreadable', url: null, headers: null };
  return {
    ...{ webhookId: id, status, ...place, ...settings },
    createdAt: new Date(createdAtMs).toISOString(),
    verifiedAt: verifiedAtMs === undefined ? undefined : new Date(verifiedAtMs).toISOString(),
  };
}

/** Throws when there is none. */
export function foundWebhook<W extends ListedWebhook>(id: string, webhook: W | undefined): W {
  if (!webhook) throw noSuchWebhook(id);
  return webhook;
}

export function noSuchWebhook(id: string): Error {
  return new Error(`there is no webhook ${id}`);
}
