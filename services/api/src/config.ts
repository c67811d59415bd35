import { totalmem } from 'node:os';
import type { Networks } from '@gateway/egress/address-rules';
import { deniedNetworks, networks, type WebhookNetworks, webhookKeys } from '@gateway/egress/webhook-policy';
import {
  type GatewayConfig,
  gatewayKeys,
  type PaceConfig,
  paceKeys,
  port,
  refuseOpsPort,
} from '@gateway/runtime/config/gateway-config';
import { readConfig } from '@gateway/runtime/config/read-config';
import Joi from 'joi';

/** The settings of the API, each an environment variable of that name. */
export interface ApiConfig extends GatewayConfig, PaceConfig, WebhookNetworks {
  /** Address the API listens on. Default: this machine only; a container sets `0.0.0.0`. */
  API_HOST: string;
  /** Port the API listens on; 0 takes any free one. Default 3000. */
  API_PORT: number;
  /**
   * How many proxies stand in front, each adding an entry to `X-Forwarded-For`. Default 0: the header is not believed.
   * Too high a number lets callers choose the address that failed tokens are counted by.
   */
  TRUST_PROXY: number;
  /** Connections that wait to be accepted; the system may have a lower bound (`net.core.somaxconn`). Default 4,096. */
  LISTEN_BACKLOG: number;
  /**
   * Connections at a time; more are closed at once, for a balancer to try another replica. From nine tenths of them on, idle
   * ones are closed, of the address with the most. Default 5,000.
   */
  MAX_CONNECTIONS: number;
  /**
   * Of these, from one address (of IPv6: one network). Beyond it the connection of that address which has been idle longest
   * is closed, or the new one if none is. Default: half of them, or all with `TRUST_PROXY`: that one address is the proxy.
   */
  MAX_CONNECTIONS_PER_ADDRESS: number;
  /** How long a caller may take to send a whole request, body included. Default 60. */
  REQUEST_TIMEOUT_SECONDS: number;
  /**
   * Bytes of memory that one process uses for request bodies and fetched files at a time, a quarter of them for one token;
   * beyond it callers get a 503, but for bodies below 64 kB, which have 16 MiB of their own. Default: a quarter of the memory
   * that the process may have (of its container, else of the machine), at least 64 MiB and at most 256 MiB.
   */
  BODY_BUDGET_BYTES: number;
  /** Ports that the URL of an attachment may name. Default `80,443`. */
  ATTACHMENT_PORTS: number[];
  /**
   * Networks beside the public internet that the URL of an attachment may lead to, as CIDR, such as that of your own
   * file server. Default none. Every caller with a token can fetch from them.
   */
  ATTACHMENT_NETWORKS: Networks;
  /**
   * Networks that the URL of an attachment may not lead to, as CIDR, such as public addresses of your own, or services
   * of your cloud that only its machines can reach. Counts before `ATTACHMENT_NETWORKS`. Default none.
   */
  ATTACHMENT_DENIED_NETWORKS: Networks;
  /**
   * Bytes of attachments that a workspace may store in Redis; beyond it callers get a 503. Where Redis has a `maxmemory` it is a
   * tenth of that, whatever is set here. Default 1 GiB.
   */
  BLOB_QUOTA_BYTES: number;
  /**
   * How many people `POST /opt-outs` may put on the list of a workspace. Default 1,000,000: 23 MB. People who answer STOP, and whom an
   * operator adds, are never refused.
   */
  MAX_OPT_OUTS: number;
  /**
   * Numbers that `POST /contacts/check` takes in a day (UTC) for each device. Default 5,000: accounts that look up many
   * strangers are restricted.
   */
  CONTACT_CHECKS_PER_DAY: number;
}

/** A quarter of it is the largest body. */
const LEAST_BODY_BUDGET_BYTES = 64 * 1024 * 1024;
const MOST_BODY_BUDGET_BYTES = 256 * 1024 * 1024;

export const apiSettings = Joi.object<ApiConfig>({
  ...gatewayKeys,
  ...paceKeys,
  API_HOST: Joi.string().hostname().default('127.0.0.1'),
  API_PORT: port().custom(refuseOpsPort).default(3000),
  TRUST_PROXY: Joi.number().integer().min(0).max(10).unit('proxies').default(0),
  LISTEN_BACKLOG: Joi.number().integer().min(1).max(65_535).unit('connections').default(4_096),
  MAX_CONNECTIONS: Joi.number().integer().min(1).max(1_000_000).unit('connections').default(5_000),
  MAX_CONNECTIONS_PER_ADDRESS: Joi.number()
    .integer()
    .min(1)
    .max(1_000_000)
    .unit('connections')
    .custom(refuseMoreThanAll)
    .default(defaultPerAddress),
  REQUEST_TIMEOUT_SECONDS: Joi.number().integer().min(1).max(600).unit('seconds').default(60),
  BODY_BUDGET_BYTES: Joi.number()
    .integer()
    .min(LEAST_BODY_BUDGET_BYTES)
    .unit('bytes')
    .custom(refuseMoreThanMemory)
    .default(defaultBodyBudget),
  ATTACHMENT_PORTS: Joi.string().custom(parsePorts).default([80, 443]),
  ATTACHMENT_NETWORKS: networks(),
  ATTACHMENT_DENIED_NETWORKS: deniedNetworks('ATTACHMENT_NETWORKS'),
  ...webhookKeys,
  BLOB_QUOTA_BYTES: Joi.number()
    .integer()
    .min(32 * 1024 * 1024)
    .unit('bytes')
    .default(1024 * 1024 * 1024),
  MAX_OPT_OUTS: Joi.number().integer().min(0).max(1_000_000_000).unit('people').default(1_000_000),
  CONTACT_CHECKS_PER_DAY: Joi.number().integer().min(0).max(10_000_000).unit('numbers a day').default(5_000),
});

/** Throws an error that names every variable with a problem. */
export function readApiConfig(): ApiConfig {
  return readConfig(apiSettings, process.env);
}

function refuseMoreThanAll(connections: number, helpers: Joi.CustomHelpers): number {
  const { MAX_CONNECTIONS: all } = helpers.state.ancestors[0] as ApiConfig;
  if (connections > all) throw new Error('must not be above MAX_CONNECTIONS');
  return connections;
}

function refuseMoreThanMemory(bytes: number): number {
  if (bytes >= availableBytes()) throw new Error('must be below the memory that the process may have');
  return bytes;
}

function defaultPerAddress({ MAX_CONNECTIONS, TRUST_PROXY }: ApiConfig): number {
  return TRUST_PROXY > 0 ? MAX_CONNECTIONS : Math.ceil(MAX_CONNECTIONS / 2);
}

function defaultBodyBudget(): number {
  const share = Math.floor(availableBytes() / 4);
  return Math.min(Math.max(share, LEAST_BODY_BUDGET_BYTES), MOST_BODY_BUDGET_BYTES);
}

/** Memory of the container, else of the machine. */
export function availableBytes(): number {
  // Without a limit it is 0, or more than there is.
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}

function parsePorts(list: string): number[] {
  const ports = list.split(',').map(Number);
  if (!ports.every((port) => Number.isInteger(port) && port > 0 && port < 65_536)) throw new Error('must be ports');
  return ports;
}
