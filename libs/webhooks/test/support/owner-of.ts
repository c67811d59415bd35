import type { WebhookOwner } from '@gateway/store/webhooks/delivering/owners';

/** A process whose sessions last longer than any test. */
export const ownerOf = (processId: string): WebhookOwner => ({ processId, sessionMs: 600_000 });
