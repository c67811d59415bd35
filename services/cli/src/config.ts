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
type CliConfig = GatewayConfig & SocketConfig & Partial<CredentialConfig>;
const schema = Joi.object<CliConfig>({ ...gatewayKeys, ...credentialKeys, ...socketKeys }).fork(
  'CREDENTIAL_KEYS',
  (keys) => keys.optional(),
);

/** Throws an error that names every variable with a problem. */
export function readCliConfig(): CliConfig {
  return readConfig(schema, process.env);
}
