import {
  type CredentialConfig,
  credentialKeys,
  type GatewayConfig,
  gatewayKeys,
  type OwnerConfig,
  ownerKeys,
  type PaceConfig,
  paceKeys,
} from '@gateway/runtime/config/gateway-config';
import { readConfig } from '@gateway/runtime/config/read-config';
import Joi from 'joi';

/** The settings of the sender. Each is an environment variable of that name. */
export interface SenderConfig extends GatewayConfig, CredentialConfig, OwnerConfig, PaceConfig {
  /** Devices this process holds at most. Default 1,000. */
  MAX_DEVICES: number;
  /** How long the network may take to acknowledge a message before the connection is closed. Default 15 s. */
  ACK_TIMEOUT_MS: number;
}

export const senderSettings = Joi.object<SenderConfig>({
  ...gatewayKeys,
  ...credentialKeys,
  ...ownerKeys,
  ...paceKeys,
  MAX_DEVICES: Joi.number().integer().min(1).max(10_000).unit('devices').default(1_000),
  ACK_TIMEOUT_MS: Joi.number().integer().min(100).max(120_000).unit('milliseconds').default(15_000),
});

export function readSenderConfig(environment: NodeJS.ProcessEnv = process.env): SenderConfig {
  return readConfig(senderSettings, environment);
}
