import { type GatewayConfig, gatewayKeys } from '@gateway/runtime/config/gateway-config';
import { readConfig } from '@gateway/runtime/config/read-config';
import Joi from 'joi';

/** The settings of the events service. Each is an environment variable of that name. */
export type EventsConfig = GatewayConfig;

export const eventsSettings = Joi.object<EventsConfig>({ ...gatewayKeys });

export function readEventsConfig(environment: NodeJS.ProcessEnv = process.env): EventsConfig {
  return readConfig(eventsSettings, environment);
}
