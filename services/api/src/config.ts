import {
  type GatewayConfig,
  gatewayKeys,
  type PaceConfig,
  paceKeys,
  type SocketConfig,
  socketKeys,
} from '@gateway/runtime/gateway-config';
import { readConfig } from '@gateway/runtime/read-config';
import Joi from 'joi';

/** The settings of the API, each an environment variable of that name. */
export interface ApiConfig extends GatewayConfig, PaceConfig {
  /** Address the API listens on. Default: this machine only; a container sets `0.0.0.0`. */
  API_HOST: string;
  /** Port of the same. Default 3000; 0 takes any free one. */
  API_PORT: number;
  /**
   * How many proxies stand in front, each adding an entry to `X-Forwarded-For`. Default 0: the header is not believed.
   * Too high a number lets callers choose the address that failed tokens are counted by.
   */
  TRUST_PROXY: number;
  /** How long a caller may take to send a whole request, body included. Default 60. */
  REQUEST_TIMEOUT_SECONDS: number;
  /** Bytes of request bodies that one process holds at a time; beyond it callers get a 503. Default 256 MiB. */
  BODY_BUDGET_BYTES: number;
}

const schema = Joi.object<ApiConfig>({
  ...gatewayKeys,
  ...paceKeys,
  API_HOST: Joi.string().hostname().default('127.0.0.1'),
  API_PORT: Joi.number().integer().min(0).max(65_535).default(3000),
  TRUST_PROXY: Joi.number().integer().min(0).max(10).default(0),
  REQUEST_TIMEOUT_SECONDS: Joi.number().integer().min(1).max(600).default(60),
  BODY_BUDGET_BYTES: Joi.number()
    .integer()
    .min(4 * 1024 * 1024)
    .default(256 * 1024 * 1024),
});

/** The command line needs Redis, the keys, and which network it is about; nothing of the HTTP side. */
export type CliConfig = GatewayConfig & SocketConfig;
const cliSchema = Joi.object<CliConfig>({ ...gatewayKeys, ...socketKeys });

/** Throws an error that names every variable with a problem. */
export function readApiConfig(): ApiConfig {
  return readConfig(schema, process.env);
}

export function readCliConfig(): CliConfig {
  return readConfig(cliSchema, process.env);
}
