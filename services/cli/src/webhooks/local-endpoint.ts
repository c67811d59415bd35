import type { GatewayEvent } from '@gateway/contracts/events/events';
import type { WebhookAttempt } from '@gateway/contracts/webhooks/webhook';
import { parseNetworks } from '@gateway/egress/address-rules';
import { assertAllowed, type FetchPolicy } from '@gateway/egress/fetch-policy';
import { postWebhook } from '@gateway/egress/post-webhook';
import { systemClock } from '@gateway/runtime/clock';
import type { CliContext } from '../cli-context.js';

export interface LocalEndpoint {
  url: string;
  /** The same each time, until another key seals contents: a server keeps it in its settings. */
  secret: string;
  /** Once, whatever comes back. */
  post(event: GatewayEvent, signal: AbortSignal): Promise<WebhookAttempt>;
}

const THIS_MACHINE = parseNetworks('127.0.0.0/8,::1/128');

/** A server on the developer's own machine, or wherever else webhooks may lead. Throws for a URL that leads elsewhere. */
export function localEndpoint({ store, workspace, webhookPolicy }: CliContext, url: string): LocalEndpoint {
  const { addresses } = webhookPolicy;
  const allowed = [...addresses.allowed, ...THIS_MACHINE];
  const policy = { ...webhookPolicy, addresses: { ...addresses, allowed } };
  assertLocal(url, policy);
  const secret = `whsec_${store.vault.digest('forwarding', [workspace]).toString('base64')}`;
  return {
    ...{ url, secret },
    post: async (event, signal) => {
      const request = { id: event.id, body: Buffer.from(JSON.stringify(event)), secrets: [{ secret }] };
      const target = { url, headers: {} };
      return (await postWebhook({ target, ...request }, { policy, clock: systemClock, signal })).attempt;
    },
  };
}

function assertLocal(url: string, policy: FetchPolicy): void {
  try {
    assertAllowed(new URL(url), policy);
  } catch {
    throw new Error('not a URL of this machine or by https, or one in a network that is not allowed');
  }
}
