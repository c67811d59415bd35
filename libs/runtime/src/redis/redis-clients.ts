import { once } from 'node:events';
import { type Redis, type RedisOptions, ReplyError } from 'ioredis';
import { GatewayError } from '../errors.js';
import type { Logger } from '../logs/logger.js';
import { connectTo } from './connect.js';
import { parseRedisUrl } from './redis-address.js';
import { isCluster } from './redis-nodes.js';
import { waitAtFirst } from './wait-at-first.js';
import { onWholeSlots } from './whole-slots.js';

/**
 * One connection per purpose: they differ in what happens while Redis is away.
 * - `commands` waits for Redis without a limit. For owners and workers.
 * - `failFast` fails in under 3 s when Redis does not answer. For requests with a caller waiting.
 * - `queue` and `failFastQueue` are the same for BullMQ alone: it teaches its connection two hundred commands.
 * - `sessions` waits as `commands` does, where nothing blocks, and carries nothing but what a process owns: behind a file or a list renewals could come too late.
 * - `subscriber` is only for subscriptions, and renews them by itself after an outage.
 * - `confirms` asks whether replicas have what others wrote, which holds it up: nothing else goes by it.
 */
export type RedisPurpose = 'commands' | 'failFast' | 'queue' | 'failFastQueue' | 'sessions' | 'subscriber' | 'confirms';
type DefaultPurpose = (typeof DEFAULT_PURPOSES)[number];

export interface RedisClientsOptions<Purpose extends RedisPurpose> {
  /** Of one server, of Sentinels or of a Cluster: see `parseRedisUrl`. */
  url: string;
  logger: Logger;
  /** Shown by `CLIENT LIST`. */
  name?: string;
  /** Hears of each command of a connection when it has ended; `undefined` for those that need not be listened to. */
  onCommand?: (purpose: RedisPurpose) => ((seconds: number, error?: Error) => void) | undefined;
  /** The purposes to connect for. Default: `commands`, `failFast`, `queue` and `subscriber`. */
  purposes?: readonly Purpose[];
  /** Until `failFastFromNow` is called all wait: no caller does yet, and a start that fails in a failover would be of no use. */
  waitAtFirst?: boolean;
}

export type RedisClients<Purpose extends RedisPurpose = DefaultPurpose> = Record<Purpose, Redis> & {
  /** Rejects with `redis_away` when Redis has not let all of them in before `until` is aborted. Default: in 10 s. */
  waitForReady(until?: AbortSignal): Promise<void>;
  /** From now on there are callers, who must not wait: ends what `waitAtFirst` began. */
  failFastFromNow(): void;
  /** Closes all. Safe to repeat. */
  close(): Promise<void>;
};

const READY_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 1_000;
const PING_EVERY_MS = 10_000;
/** On a Cluster a subscriber hears nothing while its node hangs, and all others go on. */
const LOOK_AT_NODE_EVERY_MS = 2_000;

/**
 * How each purpose treats an outage. `socketTimeout` counts only while an answer is outstanding: it finds connections
 * whose other end vanished silently, which the kernel alone would keep for a quarter of an hour.
 */
const BEHAVIOURS = {
  // 15 s: longer than a BullMQ worker blocks, as workers copy these options. They also require `null` retries.
  commands: { maxRetriesPerRequest: null, socketTimeout: 15_000 },
  failFast: {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 2_000,
    connectTimeout: 2_000,
    socketTimeout: 2_000,
  },
  // Half of the time that a session lasts by default.
  unblocked: { maxRetriesPerRequest: null, socketTimeout: 5_000 },
} as const satisfies Record<string, RedisOptions>;

const PURPOSES: Record<RedisPurpose, keyof typeof BEHAVIOURS> = {
  commands: 'commands',
  failFast: 'failFast',
  queue: 'commands',
  failFastQueue: 'failFast',
  sessions: 'unblocked',
  subscriber: 'unblocked',
  confirms: 'failFast',
};
const DEFAULT_PURPOSES = ['commands', 'failFast', 'queue', 'subscriber'] as const;

/** Makes the connections of a process. They connect at once, and again after every outage. */
export function createRedisClients<Purpose extends RedisPurpose = DefaultPurpose>(
  options: RedisClientsOptions<Purpose>,
): RedisClients<Purpose> {
  const { url, logger, name = 'gateway', purposes = DEFAULT_PURPOSES, onCommand, waitAtFirst: waits = false } = options;
  const address = parseRedisUrl(url);
  const connect = connectTo(address);
  // A subscriber is refused nothing, and Sentinels and a Cluster tell it of the next master: a proxy in front of one address does not.
  let left: Redis['stream'] | undefined;
  const leaveReplica = (error: Error) => {
    const isReplica = reconnectOnError(error);
    const { subscriber } = clients;
    // Once for the many commands that are refused together.
    if (isReplica && address.kind === 'single' && subscriber?.status === 'ready' && subscriber.stream !== left) {
      left = subscriber.stream;
      subscriber.disconnect(true);
    }
    return isReplica;
  };
  const make = (purpose: RedisPurpose) => {
    const behaviour = BEHAVIOURS[PURPOSES[purpose]];
    // Below 7.2, Redis refuses what ioredis says of itself: errors in the metrics for each connection.
    const info = { connectionName: `${name}-${purpose}`, disableClientInfo: true };
    const options = { ...behaviour, retryStrategy, reconnectOnError: leaveReplica, ...info };
    const client = connect(options, { isSubscriber: purpose === 'subscriber' });
    logOutages(client, logger.child({ connection: purpose }));
    comeBack(client);
    gatherWrites(client);
    outliveRefusedRenewals(client);
    const onEnd = onCommand?.(purpose);
    if (onEnd) timeCommands(client, onEnd);
    return purpose === 'queue' || purpose === 'failFastQueue' ? runAsOurs(client) : client;
  };
  const clients: Partial<Record<RedisPurpose, Redis>> = Object.fromEntries(
    purposes.map((purpose) => [purpose, make(purpose)]),
  );
  const all = Object.values(clients);
  const ends = waits ? all.map(waitAtFirst) : [];
  const [check, everyMs] =
    address.kind === 'cluster' ? ([leaveNodeAlone, LOOK_AT_NODE_EVERY_MS] as const) : ([ping, PING_EVERY_MS] as const);
  const pings = setInterval(() => clients.subscriber && check(clients.subscriber), everyMs).unref();
  return {
    ...(clients as Record<Purpose, Redis>),
    waitForReady: async (until = AbortSignal.timeout(READY_TIMEOUT_MS)) => {
      await Promise.all(all.map((client) => waitForReady(client, until)));
    },
    failFastFromNow() {
      for (const end of ends.splice(0)) end();
    },
    close: async () => {
      clearInterval(pings);
      await Promise.all(all.map(closeClient));
    },
  };
}

/**
 * BullMQ's scripts run also when Redis is full, as ours do that keep up what was accepted: what they work on are the
 * wake-ups of sends that are in Redis already. Without it a worker loses its jobs, and asks for the next one without a pause.
 * And as ours, not while their slot of a Cluster moves.
 */
function runAsOurs(client: Redis): Redis {
  const define = client.defineCommand.bind(client);
  client.defineCommand = (name, definition) => {
    const lua = `#!lua flags=allow-oom\n${definition.lua}`;
    define(name, { ...definition, lua: isCluster(client) ? onWholeSlots(lua) : lua });
  };
  return client;
}

/**
 * Commands of one turn of the event loop leave in one write. Not by the pipelines of ioredis, each of which waits for the answers to
 * the one before, and costs more than its commands.
 */
function gatherWrites(client: Redis): void {
  // Those of a Cluster, which has no connection of its own.
  client.on('+node', gatherWrites);
  const send = client.sendCommand.bind(client);
  let gathering: Redis['stream'] | undefined;
  client.sendCommand = (command, ...where) => {
    const { stream } = client;
    if (stream && stream !== gathering) {
      gathering = stream;
      stream.cork();
      setImmediate(() => {
        stream.uncork();
        if (gathering === stream) gathering = undefined;
      });
    }
    return send(command, ...where);
  };
}

/** Not by the tracing of ioredis, which writes out the arguments of every command. */
function timeCommands(client: Redis, onEnd: (seconds: number, error?: Error) => void): void {
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, ...where) => {
    const startedAtMs = performance.now();
    const end = (error?: Error) => onEnd((performance.now() - startedAtMs) / 1000, error);
    command.promise.then(() => end(), end);
    return send(command, ...where);
  };
}

/** Quick at first, for restarts; never slower than a second, as a user may be waiting. */
function retryStrategy(tries: number): number {
  return Math.min(50 * 2 ** tries, 1_000) * (0.75 + Math.random() / 2);
}

/**
 * A server that has become a replica keeps its connections, and refuses all that writes: the command goes again, on a new
 * connection, which leads to the present master. None of it was carried out.
 */
function reconnectOnError(error: Error): 2 | false {
  return error.message.startsWith('READONLY') ? 2 : false;
}

/** An outage is two lines, not one per attempt to connect; and one more where Redis answers by refusing it. */
function logOutages(client: Redis, logger: Logger): void {
  const told = new Set<string>();
  client.on('error', (error) => {
    const what = error instanceof ReplyError ? 'redis refuses connections' : 'redis connection lost';
    if (!told.has(what)) logger.warn(what, { error });
    told.add(what);
  });
  client.on('ready', () => {
    if (told.size > 0) logger.info('redis connection restored');
    told.clear();
  });
}

/** Of clients that are closed on purpose. */
const closing = new WeakSet<Redis>();

/**
 * ioredis gives a client up for good when it hears of a failover in the moment in which it asks Sentinels for the master: only a
 * client that we close has ended.
 */
function comeBack(client: Redis): void {
  client.on('end', () => {
    const connect = () => !closing.has(client) && client.connect().catch(() => {});
    if (!closing.has(client)) setTimeout(connect, retryStrategy(1)).unref();
  });
}

/** ioredis renews subscriptions after an outage, and handles no refusal of them: the rejected promise would end the process. */
function outliveRefusedRenewals(client: Redis): void {
  const subscribe = client.subscribe.bind(client) as (...channels: string[]) => Promise<unknown>;
  client.subscribe = (...channels: unknown[]) => {
    const subscribed = subscribe(...(channels as string[]));
    subscribed.catch(() => {});
    return subscribed;
  };
}

/** Keeps a silent connection from going stale unnoticed. */
function ping(client: Redis): void {
  if (client.status === 'ready') client.ping().catch(() => {});
}

/**
 * A node that is cut off from most masters still answers, and hears nothing of what is published through them. The next connection is to
 * another node, and those who listen are told by its `ready` that they may have missed something.
 */
async function leaveNodeAlone(client: Redis): Promise<void> {
  if (client.status !== 'ready') return;
  const info = await client.cluster('INFO').catch(() => undefined);
  if (info !== undefined && !/^cluster_state:ok/m.test(String(info))) client.disconnect(true);
}

/** Failed attempts to connect do not end the wait: only `until` does. */
function waitForReady(client: Redis, until: AbortSignal): Promise<void> {
  if (client.status === 'ready') return Promise.resolve();
  return new Promise((resolve, reject) => {
    let message = 'Redis does not answer';
    const note = (error: Error) => {
      message = error instanceof ReplyError ? `Redis refuses connections: ${error.message}` : 'Redis does not answer';
    };
    const giveUp = () => {
      client.off('ready', done).off('error', note);
      reject(new GatewayError({ code: 'redis_away', message }));
    };
    const done = () => {
      until.removeEventListener('abort', giveUp);
      client.off('error', note);
      resolve();
    };
    if (until.aborted) return giveUp();
    until.addEventListener('abort', giveUp, { once: true });
    client.once('ready', done).on('error', note);
  });
}

async function closeClient(client: Redis): Promise<void> {
  closing.add(client);
  if (client.status === 'end') return;
  const ended = once(client, 'end', { signal: AbortSignal.timeout(CLOSE_TIMEOUT_MS) }).catch(() => {});
  if (client.status === 'ready') client.quit().catch(() => client.disconnect());
  else client.disconnect();
  await ended;
  if (!hasEnded(client)) client.disconnect();
}

/** A function, as the compiler takes the status for what it was before. */
function hasEnded(client: Redis): boolean {
  return client.status === 'end';
}
