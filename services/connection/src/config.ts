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
export interface ConnectionConfig extends GatewayConfig, CredentialConfig, OwnerConfig, SocketConfig {}

export const connectionSettings = Joi.object<ConnectionConfig>({
  ...gatewayKeys,
  ...credentialKeys,
  ...ownerKeys,
  ...socketKeys,
});

export function readConnectionConfig(environment: NodeJS.ProcessEnv = process.env): ConnectionConfig {
  return readConfig(connectionSettings, environment);
}
