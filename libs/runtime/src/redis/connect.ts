import { createConnection } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisAccess, RedisAddress, RedisNode } from './redis-address.js';
import { QuietSentinelConnector } from './sentinel-connector.js';

const SENTINEL_TIMEOUT_MS = 2_000;
/** How soon a failover is noticed by who has no command that is refused. */
const SLOTS_REFRESH_MS = 5_000;
const CLUSTER_RETRY_MS = 200;

/** What applies to every connection of a client, whatever it leads to. */
export type ClientOptions = Omit<RedisOptions, 'replyMapping' | 'retryStrategy'> & {
  retryStrategy: (attempts: number) => number;
};

/** Makes a client, which connects at once. One of a Cluster is typed as one of a single Redis (see redis-nodes.ts). */
export function connect(
  address: RedisAddress,
  options: ClientOptions,
  { isSubscriber }: { isSubscriber: boolean },
): Redis {
  if (address.kind === 'single') return new Redis(address.url, options);
  const access = accessOptions(address);
  if (address.kind === 'sentinel') {
    const { sentinelAccess } = address;
    return new Redis({
      ...options,
      ...access,
      db: address.db,
      sentinels: address.sentinels,
      name: address.master,
      enableTLSForSentinelMode: address.isTls,
      connectTimeout: SENTINEL_TIMEOUT_MS,
      sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
      sentinelRetryStrategy: options.retryStrategy,
      // A master that was replaced while it is cut off from the others takes all that it is sent, and forgets it later.
      failoverDetector: true,
      Connector: QuietSentinelConnector,
      sentinelReconnectStrategy: options.retryStrategy,
      ...(sentinelAccess.isTls && { sentinelTLS: {} }),
      sentinelUsername: sentinelAccess.username,
      sentinelPassword: sentinelAccess.password,
    });
  }
  // A channel has no slot: a message to any node reaches all of them.
  if (isSubscriber) return new Redis({ ...options, ...access, Connector: anyNodeOf(address.nodes, access) });
  return connectCluster(address.nodes, { ...options, ...access });
}

function connectCluster(nodes: RedisNode[], options: ClientOptions): Redis {
  const { retryStrategy, enableOfflineQueue = true, ...each } = options;
  const waits = options.maxRetriesPerRequest === null;
  const cluster = new Cluster(nodes, {
    clusterRetryStrategy: retryStrategy,
    enableOfflineQueue,
    // Who waits for Redis waits for a failover; who must answer a caller asks the next node at most once.
    maxRedirections: waits ? Number.MAX_SAFE_INTEGER : 3,
    ...{ retryDelayOnFailover: CLUSTER_RETRY_MS, retryDelayOnClusterDown: CLUSTER_RETRY_MS },
    ...{ retryDelayOnTryAgain: CLUSTER_RETRY_MS, slotsRefreshInterval: SLOTS_REFRESH_MS },
    redisOptions: each,
  });
  return cluster as unknown as Redis;
}

function accessOptions({
  username,
  password,
  isTls,
}: RedisAccess): Pick<RedisOptions, 'username' | 'password' | 'tls'> {
  return { username, password, ...(isTls && { tls: {} }) };
}

/** Connects to the nodes in turn, beginning with any of them, until one answers. */
function anyNodeOf(nodes: readonly RedisNode[], { tls }: RedisOptions): RedisOptions['Connector'] {
  let next = Math.floor(Math.random() * nodes.length);
  return class extends AbstractConnector {
    constructor() {
      super(SENTINEL_TIMEOUT_MS);
    }

    async connect() {
      const { host, port } = nodes[next++ % nodes.length]!;
      this.stream = tls ? connectTls({ host, port, servername: host }) : createConnection({ host, port });
      return this.stream;
    }
  };
}
