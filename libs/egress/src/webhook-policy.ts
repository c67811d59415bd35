import type { Networks } from './address-rules.js';
import type { FetchPolicy } from './fetch-policy.js';

/** The settings of all who post to webhooks. */
export interface WebhookNetworks {
  WEBHOOK_NETWORKS: Networks;
  WEBHOOK_DENIED_NETWORKS: Networks;
  NAT64_PREFIXES: Networks;
}

/** By https to the public internet, and also without it to networks that the operator allows. */
export function webhookPolicy(config: WebhookNetworks): FetchPolicy {
  const { WEBHOOK_NETWORKS: allowed, WEBHOOK_DENIED_NETWORKS: denied, NAT64_PREFIXES: nat64 } = config;
  return { isSecure: true, addresses: { allowed, denied, nat64 } };
}
