import { type WebhookNetworks, webhookKeys } from '@gateway/egress/webhook-policy';
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

/**
 * The command line needs Redis, the keys, and which network it is about; nothing of the HTTP side. Without `CREDENTIAL_KEYS`,
 * where the API runs, it does what needs no keys of accounts.
 */
type CliConfig = GatewayConfig & SocketConfig & WebhookNetworks & Partial<CredentialConfig> & { DASHBOARD_URL: string };
const schema = Joi.object<CliConfig & { DASHBOARD_PORT: number }>({
  ...{ ...gatewayKeys, ...credentialKeys, ...socketKeys },
  DASHBOARD_PORT: Joi.number().integer().min(1).max(65_535).default(3001),
  DASHBOARD_URL: Joi.string()
    .uri({ scheme: ['http', 'https'] })
    .default(({ DASHBOARD_PORT }: { DASHBOARD_PORT: number }) => `http://localhost:${DASHBOARD_PORT}`),
  ...webhookKeys,
}).fork('CREDENTIAL_KEYS', (keys) => keys.optional());

/** Throws an error that names every variable with a problem. */
export function readCliConfig(env: NodeJS.ProcessEnv): CliConfig {
  return readConfig(schema, env);
}
