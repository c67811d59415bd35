import { parseNat64Prefixes, parseNetworks } from '@gateway/egress/address-rules';
import type { WebhookNetworks } from '@gateway/egress/webhook-policy';
import { type GatewayConfig, gatewayKeys } from '@gateway/runtime/config/gateway-config';
import { readConfig } from '@gateway/runtime/config/read-config';
import Joi from 'joi';

/** The settings of the events service. Each is an environment variable of that name; those of webhooks are the api's. */
export interface EventsConfig extends GatewayConfig, WebhookNetworks {}

export const eventsSettings = Joi.object<EventsConfig>({
  ...gatewayKeys,
  WEBHOOK_NETWORKS: Joi.string().custom(parseNetworks).default([]),
  WEBHOOK_DENIED_NETWORKS: Joi.string().custom(parseNetworks).default([]),
  NAT64_PREFIXES: Joi.string().custom(parseNat64Prefixes).default([]),
});

export function readEventsConfig(environment: NodeJS.ProcessEnv = process.env): EventsConfig {
  return readConfig(eventsSettings, environment);
}
