import Joi from 'joi';
import { holdAllOfOne, type Networks, parseNat64Prefixes, parseNetworks } from './address-rules.js';
import type { FetchPolicy } from './fetch-policy.js';

/** The settings of all who post to webhooks. */
export interface WebhookNetworks {
  /**
   * Networks beside the public internet that webhooks may lead to, as CIDR, such as that of your own servers; only these also
   * by plain http. Default none. Every caller whose token has the scope `webhooks` can post to them.
   */
  WEBHOOK_NETWORKS: Networks;
  /** Networks that webhooks may not lead to, as CIDR. Counts before `WEBHOOK_NETWORKS`. Default none. */
  WEBHOOK_DENIED_NETWORKS: Networks;
  /**
   * IPv6 prefixes that your network translates to IPv4 (NAT64, RFC 6052), as CIDR of 32, 40, 48, 56, 64 or 96 bits: an
   * address in one of them counts as the IPv4 address in it. Default none; `64:ff9b::/96` is always among them.
   */
  NAT64_PREFIXES: Networks;
}

/** By https to the public internet, and also without it to networks that the operator allows. */
export function webhookPolicy(config: WebhookNetworks): FetchPolicy {
  const { WEBHOOK_NETWORKS: allowed, WEBHOOK_DENIED_NETWORKS: denied, NAT64_PREFIXES: nat64 } = config;
  return { isSecure: true, addresses: { allowed, denied, nat64 } };
}

/** A list of networks as CIDR. */
export const networks = () => Joi.string().custom(parseNetworks).default([]);

/** One that counts before another. A network that is allowed and wholly denied is a mistake. @param allowed stands before it in the schema. */
export const deniedNetworks = (allowed: string) =>
  networks().custom((denied: Networks, helpers) => {
    const others = (helpers.state.ancestors[0] as Record<string, unknown>)[allowed];
    if (Array.isArray(others) && holdAllOfOne(denied, others)) {
      throw new Error(`must leave something of each network in ${allowed}`);
    }
    return denied;
  });

export const webhookKeys: Joi.PartialSchemaMap<WebhookNetworks> = {
  WEBHOOK_NETWORKS: networks(),
  WEBHOOK_DENIED_NETWORKS: deniedNetworks('WEBHOOK_NETWORKS'),
  NAT64_PREFIXES: Joi.string().custom(parseNat64Prefixes).default([]),
};
