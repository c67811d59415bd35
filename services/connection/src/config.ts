import {
  type CredentialConfig,
  credentialKeys,
  type GatewayConfig,
  gatewayKeys,
  type SocketConfig,
  socketKeys,
} from '@gateway/runtime/config/gateway-config';
import { readConfig } from '@gateway/runtime/config/read-config';
import Joi from 'joi';

/** The settings of the connection service. Each is an environment variable of that name. */
export interface ConnectionConfig extends GatewayConfig, CredentialConfig, SocketConfig {
  /** How long a device stays with a process that has fallen silent. Default 10 s. */
  LEASE_TTL_MS: number;
  /** How long senders have to claim a linked device before this service keeps it connected. Default 5 s. */
  HOLD_AFTER_MS: number;
}

const schema = Joi.object<ConnectionConfig>({
  ...gatewayKeys,
  ...credentialKeys,
  ...socketKeys,
  LEASE_TTL_MS: Joi.number().integer().min(500).max(60_000).default(10_000),
  HOLD_AFTER_MS: Joi.number().integer().min(100).max(600_000).default(5_000),
});

export function readConnectionConfig(environment: NodeJS.ProcessEnv = process.env): ConnectionConfig {
  return readConfig(schema, environment);
}
