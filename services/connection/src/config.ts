import {
  type CredentialConfig,
  credentialKeys,
  type GatewayConfig,
  gatewayKeys,
  type OwnerConfig,
  ownerKeys,
  type SocketConfig,
  socketKeys,
} from '@gateway/runtime/config/gateway-config';
import { readConfig } from '@gateway/runtime/config/read-config';
import Joi from 'joi';

/** The settings of the connection service. Each is an environment variable of that name. */
export interface ConnectionConfig extends GatewayConfig, CredentialConfig, OwnerConfig, SocketConfig {
  /** How long senders have to claim a linked device before this service keeps it connected. Default 5 s. */
  HOLD_AFTER_MS: number;
}

const schema = Joi.object<ConnectionConfig>({
  ...gatewayKeys,
  ...credentialKeys,
  ...ownerKeys,
  ...socketKeys,
  HOLD_AFTER_MS: Joi.number().integer().min(100).max(600_000).default(5_000),
});

export function readConnectionConfig(environment: NodeJS.ProcessEnv = process.env): ConnectionConfig {
  return readConfig(schema, environment);
}
