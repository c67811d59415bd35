import type { ListedWebhook } from '@gateway/store/webhooks/webhooks';

/** Throws when there is none. */
export function foundWebhook<W extends ListedWebhook>(id: string, webhook: W | undefined): W {
  if (!webhook) throw noSuchWebhook(id);
  return webhook;
}

export function noSuchWebhook(id: string): Error {
  return new Error(`there is no webhook ${id}`);
}
