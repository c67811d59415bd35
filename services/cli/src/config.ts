import { type Networks, parseNat64Prefixes, parseNetworks } from '@gateway/egress/address-rules';
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
type CliConfig = GatewayConfig &
  SocketConfig &
  Partial<CredentialConfig> & {
    DASHBOARD_URL: string;
    WEBHOOK_NETWORKS: Networks;
    WEBHOOK_DENIED_NETWORKS: Networks;
    NAT64_PREFIXES: Networks;
  };
const schema = Joi.object<CliConfig & { DASHBOARD_PORT: number }>({
  ...{ ...gatewayKeys, ...credentialKeys, ...socketKeys },
  DASHBOARD_PORT: Joi.number().integer().min(1).max(65_535).default(3001),
  DASHBOARD_URL: Joi.string()
    .uri({ scheme: ['http', 'https'] })
    .default(({ DASHBOARD_PORT }: { DASHBOARD_PORT: number }) => `http://localhost:${DASHBOARD_PORT}`),
  WEBHOOK_NETWORKS: Joi.string().custom(parseNetworks).default([]),
  WEBHOOK_DENIED_NETWORKS: Joi.string().custom(parseNetworks).default([]),
  NAT64_PREFIXES: Joi.string().custom(parseNat64Prefixes).default([]),
}).fork('CREDENTIAL_KEYS', (keys) => keys.optional());

/** Throws an error that names every variable with a problem. */
export function readCliConfig(): CliConfig {
  return readConfig(schema, process.env);
}
