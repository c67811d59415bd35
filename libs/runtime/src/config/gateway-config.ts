import Joi from 'joi';
import type { LoggerOptions, LogLevel } from '../logs/logger.js';
import { parseRedisUrl } from '../redis/redis-address.js';
import { type EncryptionKey, parseEncryptionKeys } from './encryption-keys.js';
import { isRealNetwork, type MessengerTrust, parseMessengerTrust } from './messenger-trust.js';

/** The settings every service shares. Each is an environment variable of that name, or of that and `_FILE`. */
export interface GatewayConfig {
  /** The one data store: `redis://`, `redis+sentinel://` or `redis+cluster://`, each with `rediss` for TLS (redis/redis-address.ts). Default: the Redis of this machine. */
  REDIS_URL: string;
  /**
   * Start although Redis writes no append-only file, as managed ones that have replicas in its place. What was accepted since
   * its last snapshot is lost with it: messages are, and those that were sent meanwhile may be sent again. Default false.
   */
  REDIS_WITHOUT_AOF: boolean;
  /**
   * Replicas that must have what is promised before a caller is told: sends, cancellations, opt-outs, revoked tokens, deleted workspaces.
   * They must have the claim of a recipient, too, before the message goes out.
   * With 0, the default, what the master of an asynchronous replica takes in its last moment is lost with it.
   */
  REDIS_WAIT_REPLICAS: number;
  /** First part of all Redis keys: separates installations that share a Redis. Default `gw`. */
  KEY_PREFIX: string;
  /** Keys that encrypt the content of messages, `id:64hex[,id:64hex...]`. The first encrypts, all decrypt. Required. */
  CONTENT_KEYS: EncryptionKey[];
  /** The least important lines that are logged. Default `info`. */
  LOG_LEVEL: LogLevel;
  /** `json` or `pretty`. Default: pretty in a terminal, JSON elsewhere. */
  LOG_FORMAT?: 'json' | 'pretty';
  /** Address of `/livez`, `/readyz` and `/metrics`: not for the public. Default: this machine only. */
  OPS_HOST: string;
  /** Port of `/livez`, `/readyz` and `/metrics`. Default 0: any free one. */
  OPS_PORT: number;
  /**
   * Base address of an OpenTelemetry collector (OTLP over HTTP), which then gets a trace of each send: docs/flow.md. `OTEL_EXPORTER_OTLP_HEADERS`,
   * `OTEL_TRACES_SAMPLER`, `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` have the usual meaning. Default none: nothing is traced.
   */
  OTEL_EXPORTER_OTLP_ENDPOINT?: string;
}

/** The settings of services that open sessions of accounts: all but the API. */
export interface CredentialConfig {
  /** Keys for credentials and session keys of accounts, at rest; others than `CONTENT_KEYS`. The first seals, all open. Required. */
  CREDENTIAL_KEYS: EncryptionKey[];
}

/** The settings of services that own devices or webhook endpoints. */
export interface OwnerConfig {
  /**
   * How long devices, and webhook endpoints, stay with a process that has fallen silent. At least 2 s where Sentinels are asked and
   * replicas waited for. Default 10 s.
   */
  SESSION_TTL_MS: number;
  /**
   * Under this name the process starts again after it died, as a container that is restarted: the new one has the devices and
   * endpoints of the old one at once. Two running processes must not share it. Default none: others take them after `SESSION_TTL_MS`.
   */
  INSTANCE_NAME?: string;
}

/** The settings of services that open sockets to the messenger network. */
export interface SocketConfig {
  /** Where the network's WebSocket is. Default: the real one. */
  MESSENGER_URL: string;
  /** Which server to trust as the network: `production`, `root:<64 hex digits>` (a simulator's) or `insecure`. Default `production`; anything else is refused with the real network. */
  MESSENGER_TRUST: MessengerTrust;
  /** Version of the network's web client to report, such as `2.3000.1043857760`. Default: the built-in one. `version set` of the command line takes precedence. */
  MESSENGER_VERSION?: string;
}

/** The pace that a device has unless an operator gave it another. */
export interface PaceConfig extends SocketConfig {
  /** Messages per minute and device, 0 for no limit. Default 20; against a simulator (`MESSENGER_TRUST=root:...`) 0. Never 0 on the real network. */
  PACE_PER_MINUTE: number;
}

const REAL_NETWORK_URL = 'wss://web.whatsapp.com/ws/chat';
const CAREFUL_PACE_PER_MINUTE = 20;
const LEAST_ASKED_TTL_MS = 2_000;
/** 0 takes any free one. */
export const port = () => Joi.number().integer().min(0).max(65_535);

export const gatewayKeys: Joi.PartialSchemaMap<GatewayConfig & { ENCRYPTION_KEYS: never }> = {
  REDIS_URL: Joi.string().custom(checkedRedisUrl).default('redis://127.0.0.1:6379'),
  REDIS_WAIT_REPLICAS: Joi.number().integer().min(0).max(5).default(0),
  REDIS_WITHOUT_AOF: Joi.boolean().default(false),
  KEY_PREFIX: Joi.string()
    .pattern(/^[A-Za-z0-9_-]{1,40}$/)
    .default('gw'),
  CONTENT_KEYS: Joi.string().custom(parseEncryptionKeys).required(),
  ENCRYPTION_KEYS: Joi.forbidden().messages({
    'any.unknown': '{{#label}} was split in two, CREDENTIAL_KEYS and CONTENT_KEYS: see docs/security.md',
  }),
  LOG_LEVEL: Joi.string().valid('debug', 'info', 'warn', 'error').default('info'),
  LOG_FORMAT: Joi.string().valid('json', 'pretty'),
  OPS_HOST: Joi.string().hostname().default('127.0.0.1'),
  OPS_PORT: port().default(0),
  OTEL_EXPORTER_OTLP_ENDPOINT: Joi.string().uri({ scheme: ['http', 'https'] }),
};

export const credentialKeys: Joi.PartialSchemaMap<CredentialConfig> = {
  CREDENTIAL_KEYS: Joi.string().custom(readCredentialKeys).required(),
};

export const ownerKeys: Joi.PartialSchemaMap<OwnerConfig> = {
  SESSION_TTL_MS: Joi.number()
    .integer()
    .min(500)
    .max(60_000)
    .unit('milliseconds')
    .custom(refuseTooShort)
    .default(10_000),
  INSTANCE_NAME: Joi.string().pattern(/^[A-Za-z0-9._-]{1,100}$/),
};

// The order of the keys matters: each rule looks at the ones before it.
export const socketKeys: Joi.PartialSchemaMap<SocketConfig> = {
  MESSENGER_URL: Joi.string()
    .uri({ scheme: ['ws', 'wss'] })
    .custom(refusePlainRealNetwork)
    .default(REAL_NETWORK_URL),
  MESSENGER_TRUST: Joi.string().custom(readTrust).default({ kind: 'production' }),
  MESSENGER_VERSION: Joi.string().pattern(/^\d{1,3}\.\d{1,5}\.\d{1,10}$/),
};

export const paceKeys: Joi.PartialSchemaMap<PaceConfig> = {
  ...socketKeys,
  PACE_PER_MINUTE: Joi.number()
    .integer()
    .min(0)
    .max(100_000)
    .unit('messages a minute')
    .custom(refuseUnlimited)
    .default(defaultPace),
};

/** How a service logs, by its settings. */
export function loggerOptions(config: GatewayConfig, service: string): LoggerOptions {
  const { LOG_LEVEL: level, LOG_FORMAT: format } = config;
  return { service, level, ...(format && { pretty: format === 'pretty' }) };
}

/** A key of both rings would be in the hands of the API, too. */
function readCredentialKeys(text: string, helpers: Joi.CustomHelpers): EncryptionKey[] {
  const keys = parseEncryptionKeys(text);
  const { CONTENT_KEYS: contents } = helpers.state.ancestors[0] as Partial<GatewayConfig>;
  if (Array.isArray(contents) && keys.some(({ key }) => contents.some((other) => other.key.equals(key)))) {
    throw new Error('must not have a key of CONTENT_KEYS');
  }
  return keys;
}

/** For the ports of services: each process has another one for its health and metrics. */
export function refuseOpsPort(number: number, helpers: Joi.CustomHelpers): number {
  const { OPS_PORT: opsPort } = helpers.state.ancestors[0] as Partial<GatewayConfig>;
  if (number !== 0 && number === opsPort) throw new Error('must not be OPS_PORT');
  return number;
}

/** Whether the master is still the master is asked with each renewal: while replicas are away the answer takes a moment. */
function refuseTooShort(ttlMs: number, helpers: Joi.CustomHelpers): number {
  const { REDIS_URL, REDIS_WAIT_REPLICAS } = helpers.state.ancestors[0] as Partial<GatewayConfig>;
  const isAsked = REDIS_WAIT_REPLICAS && REDIS_URL && parseRedisUrl(REDIS_URL).kind === 'sentinel';
  if (isAsked && ttlMs < LEAST_ASKED_TTL_MS)
    throw new Error(`must be at least ${LEAST_ASKED_TTL_MS} with Sentinels and REDIS_WAIT_REPLICAS`);
  return ttlMs;
}

function refusePlainRealNetwork(url: string): string {
  if (isRealNetwork(url) && !url.toLowerCase().startsWith('wss:'))
    throw new Error('must be wss:// for the real network');
  return url;
}

function readTrust(text: string, helpers: Joi.CustomHelpers): MessengerTrust {
  const trust = parseMessengerTrust(text);
  if (trust.kind !== 'production' && leadsToRealNetwork(helpers)) {
    throw new Error('must be production for the real network');
  }
  return trust;
}

function refuseUnlimited(perMinute: number, helpers: Joi.CustomHelpers): number {
  if (perMinute === 0 && leadsToRealNetwork(helpers)) {
    throw new Error('must not be 0 on the real network: unpaced bulk gets accounts banned');
  }
  return perMinute;
}

function leadsToRealNetwork(helpers: Joi.CustomHelpers): boolean {
  const { MESSENGER_URL: url } = helpers.state.ancestors[0] as Partial<SocketConfig>;
  return url !== undefined && isRealNetwork(url);
}

function defaultPace({ MESSENGER_TRUST: trust }: Partial<SocketConfig>): number {
  return trust?.kind === 'root' ? 0 : CAREFUL_PACE_PER_MINUTE;
}

function checkedRedisUrl(url: string): string {
  parseRedisUrl(url);
  return url;
}
