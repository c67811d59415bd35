import { createConnection } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisAccess, RedisAddress, RedisNode } from './redis-address.js';
import { inItsDatabase } from './refusals/in-its-database.js';
import { GONE, leaveWhenRefused, waitOutRefusals } from './refusals/wait-out-refusals.js';
import { leaveSentinels, newestMaster } from './sentinels/sentinel-connector.js';

const SENTINEL_TIMEOUT_MS = 2_000;
/** How soon a failover is noticed by who has no command that is refused. */
const SLOTS_REFRESH_MS = 5_000;
const CLUSTER_RETRY_MS = 200;
/** The next attempt is at another node, which may answer at once: from this one on they come no later. */
const CLUSTER_STEADY_TRY = 2;

/** What applies to every connection of a client, whatever it leads to. */
export type ClientOptions = Omit<RedisOptions, 'replyMapping' | 'retryStrategy'> & {
  retryStrategy: (attempts: number) => number;
};

type Connect = (options: ClientOptions, purpose: { isSubscriber: boolean }) => Redis;
type AddressOf<Kind> = Extract<RedisAddress, { kind: Kind }>;

/**
 * Makes clients of one Redis, which connect at once; what one of them learns of its servers the others know, too. One of a Cluster is
 * typed as one of a single Redis (see redis-nodes.ts).
 */
export function connectTo(address: RedisAddress): Connect {
  if (address.kind === 'single') return (options) => waitOutRefusals(inItsDatabase(new Redis(address.url, options)));
  return address.kind === 'sentinel' ? bySentinels(address) : toCluster(address);
}

function bySentinels(address: AddressOf<'sentinel'>): Connect {
  const { sentinelAccess } = address;
  const Connector = newestMaster();
  return (options) => {
    const client = new Redis({
      ...options,
      ...accessOptions(address),
      db: address.db,
      sentinels: address.sentinels,
      name: address.master,
      enableTLSForSentinelMode: address.isTls,
      connectTimeout: SENTINEL_TIMEOUT_MS,
      sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
      sentinelRetryStrategy: options.retryStrategy,
      Connector,
      sentinelReconnectStrategy: options.retryStrategy,
      ...(sentinelAccess.isTls && { sentinelTLS: {} }),
      sentinelUsername: sentinelAccess.username,
      sentinelPassword: sentinelAccess.password,
    });
    return waitOutRefusals(inItsDatabase(client.on('end', () => leaveSentinels(client))));
  };
}

function toCluster({ nodes, ...address }: AddressOf<'cluster'>): Connect {
  const access = accessOptions(address);
  // One list for all, which they read whenever they connect anew: with time each node of the URL may be replaced.
  const known = [...nodes];
  const learn = (present: readonly RedisNode[]) => {
    const others = nodes.filter((node) => !present.some(({ host, port }) => host === node.host && port === node.port));
    known.splice(0, known.length, ...present, ...others);
  };
  return (options, { isSubscriber }) => {
    // A channel has no slot: a message to any node reaches all of them.
    if (isSubscriber) return waitOutRefusals(new Redis({ ...options, ...access, Connector: anyNodeOf(known, access) }));
    return connectCluster(known, { ...options, ...access }, learn);
  };
}

/** @param learn told of the nodes that there are, whenever this client has asked for them. */
function connectCluster(nodes: RedisNode[], options: ClientOptions, learn: (present: RedisNode[]) => void): Redis {
  const { retryStrategy, enableOfflineQueue = true, ...each } = options;
  const waits = options.maxRetriesPerRequest === null;
  const cluster = new Cluster(nodes, {
    clusterRetryStrategy: (tries) => retryStrategy(Math.min(tries, CLUSTER_STEADY_TRY)),
    enableOfflineQueue,
    // ioredis goes by the addresses of names, and certificates are for names.
    ...(each.tls && { dnsLookup: (name: string, done: (error: null, name: string) => void) => done(null, name) }),
    // Who waits for Redis waits for a failover; who must answer a caller asks the next node at most once.
    maxRedirections: waits ? Number.MAX_SAFE_INTEGER : 3,
    ...{ retryDelayOnFailover: CLUSTER_RETRY_MS, retryDelayOnClusterDown: CLUSTER_RETRY_MS },
    ...{ retryDelayOnTryAgain: CLUSTER_RETRY_MS, slotsRefreshInterval: SLOTS_REFRESH_MS },
    redisOptions: each,
  });
  return shareNodes(cluster, nodes, learn) as unknown as Redis;
}

/** Copies of a client, as BullMQ makes of its own, go by the same list. */
function shareNodes(cluster: Cluster, nodes: RedisNode[], learn: (present: RedisNode[]) => void): Cluster {
  cluster.on('+node', leaveWhenRefused);
  settleConnects(cluster);
  sendNothingLate(cluster);
  cluster.on('refresh', () => {
    const present = cluster.nodes('all').map(({ options: { host, port } }) => ({ host: host!, port: port! }));
    if (present.length > 0) learn(present);
  });
  const duplicate = cluster.duplicate.bind(cluster);
  cluster.duplicate = (_, options) => shareNodes(duplicate(nodes, options), nodes, learn);
  return cluster;
}

/**
 * Where nodes are found, and the one that is asked next says that the Cluster is down, or nothing, ioredis connects anew by itself, and
 * what its `connect` returned never settles: a worker of BullMQ, which waits for that, would take no job any more.
 */
function settleConnects(cluster: Cluster): void {
  const connect = cluster.connect.bind(cluster);
  cluster.connect = () =>
    new Promise((resolve, reject) => {
      const fail = () => reject(new Error(GONE));
      cluster.once('close', fail);
      const settle = (end: () => void) => () => {
        cluster.off('close', fail);
        end();
      };
      connect().then(settle(resolve), (error: Error) => settle(() => reject(error))());
    });
}

/**
 * A command that a node has not answered in time fails, and stays with that node: ioredis would send it to the next one as soon as the node
 * has gone, and undo what its caller has done since.
 */
function sendNothingLate(cluster: Cluster): void {
  // By its promise: a pipeline that is sent anew gives its commands others.
  const ended = new WeakSet<Promise<unknown>>();
  const sendAnywhere = cluster.sendCommand.bind(cluster);
  cluster.sendCommand = (command, ...where) => {
    const { promise } = command;
    const end = () => void ended.add(promise);
    promise.then(end, end);
    return sendAnywhere(command, ...where);
  };
  cluster.on('+node', (node: Redis) => {
    const send = node.sendCommand.bind(node);
    node.sendCommand = (command, ...where) => (ended.has(command.promise) ? command.promise : send(command, ...where));
  });
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
