import { SUBSCRIBABLE_TYPES } from '@gateway/contracts/webhooks/webhook';
import type { DashboardDeps } from '../../dashboard-deps.js';
import { ConsoleError } from '../../http/console-error.js';
import { operation } from '../../http/operation.js';
import {
  readWebhookPage,
  readWebhookViews,
  showPageTo,
  showWebhookTo,
  type WebhookDeps,
} from '../../views/webhook-view.js';

export const listWebhooks = operation({
  method: 'get',
  path: '/webhooks',
  for: 'viewer',
  async handle({ user }, deps) {
    const webhooks = await readWebhookViews(readerOf(deps));
    return { body: { webhooks: webhooks.map((view) => showWebhookTo(user.role, view)) } };
  },
});

/** What an endpoint can be told. */
export const listWebhookTypes = operation({
  method: 'get',
  path: '/webhooks/types',
  for: 'viewer',
  async handle() {
    return { body: { types: SUBSCRIBABLE_TYPES } };
  },
});

/** One endpoint, with its latest requests. */
export const showWebhook = operation({
  method: 'get',
  path: '/webhooks/:webhook',
  for: 'viewer',
  async handle({ user, params: { webhook = '' } }, deps) {
    const page = await readWebhookPage(readerOf(deps), webhook);
    if (!page) throw new ConsoleError('not_found');
    return { body: { page: showPageTo(user.role, page) } };
  },
});

function readerOf({ store, workspace, clock }: DashboardDeps): WebhookDeps {
  return { store, workspace, nowMs: () => clock.nowMs() };
}
