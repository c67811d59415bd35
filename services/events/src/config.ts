import { type WebhookNetworks, webhookKeys } from '@gateway/egress/webhook-policy';
import { type GatewayConfig, gatewayKeys, type OwnerConfig, ownerKeys } from '@gateway/runtime/config/gateway-config';
import { readConfig } from '@gateway/runtime/config/read-config';
import Joi from 'joi';

/** The settings of the events service. Each is an environment variable of that name. */
export interface EventsConfig extends GatewayConfig, OwnerConfig, WebhookNetworks {}

export const eventsSettings = Joi.object<EventsConfig>({
  ...gatewayKeys,
  ...ownerKeys,
  ...webhookKeys,
});

export function readEventsConfig(environment: NodeJS.ProcessEnv = process.env): EventsConfig {
  return readConfig(eventsSettings, environment);
}
