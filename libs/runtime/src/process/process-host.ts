import { hostname } from 'node:os';
import { makeProcessId } from '@gateway/contracts/ids';
import type { Redis } from 'ioredis';
import { sleep } from '../clock.js';
import type { GatewayConfig } from '../config/gateway-config.js';
import { loggerOptions } from '../config/gateway-config.js';
import { createLogger, type Logger, type LogThreshold } from '../logs/logger.js';
import { type ConfirmWrites, confirmByReplicas, confirmNothing } from '../redis/confirm-writes.js';
import { createRedisClients, type RedisClients, type RedisPurpose } from '../redis/redis-clients.js';
import { addressOfNode, masterNodes, refreshMasters } from '../redis/redis-nodes.js';
import { refuseWrongSettings } from '../redis/redis-settings.js';
import { followRedisTime } from '../redis/redis-time.js';
import { tellWrongClocks } from '../redis/tell-wrong-clocks.js';
import { startTracing } from '../tracing/start-tracing.js';
import type { Lifecycle } from './lifecycle.js';
import { createMetrics, type Registry } from './metrics.js';
import { type ReadinessCheck, startOpsServer } from './ops-server.js';
import { addProcessMetrics, readVersion } from './process-metrics.js';

/** What the roles of a process share. */
export interface ProcessHost<Purpose extends RedisPurpose = RedisPurpose> {
  /** Of this start of this process: no other ever has it. */
  processId: string;
  lifecycle: Lifecycle;
  clients: RedisClients<Purpose>;
  registry: Registry;
  /** Where `/readyz` and `/metrics` are. */
  opsPort: number;
  loggerOf(role: string): Logger;
  /** For stores that give promises. */
  confirmWrites: ConfirmWrites;
  /** Shows by its metrics whether processes agree in the settings in which they must. */
  noteSettings(config: object): void;
  /** Made by the role that asks first, the same for all that ask later: what a process has once, such as a metric. */
  share<Shared>(name: string, make: () => Shared): Shared;
  /** What must hold besides, for the process to be ready: throws when it does not. */
  addCheck(name: string, check: ReadinessCheck): void;
  /** All roles run: the process is ready from now on, as far as its checks say so. */
  started(): void;
}

/** Of every process; `confirms` only with `REDIS_WAIT_REPLICAS`. */
type Always = 'failFast' | 'confirms';

export interface ProcessHostOptions<Purpose extends RedisPurpose> {
  /** Names the process: in its Redis connections, and in the `service` label of its metrics. */
  name: string;
  config: GatewayConfig;
  /** The Redis connections that its roles need. */
  purposes: readonly Purpose[];
}

/**
 * Starts what every process has: the ops server, metrics and Redis connections. Waits for Redis for as long as it takes, alive
 * but not ready: services start in any order. A process that runs stays ready without Redis: it answers its callers with a
 * 503, where a balancer without a ready process would leave them without an answer.
 * Throws when Redis is set up in a way that could lose data, or when the process is stopped while it waits.
 */
export async function startProcessHost<Purpose extends RedisPurpose>(
  lifecycle: Lifecycle,
  { name, config, purposes }: ProcessHostOptions<Purpose | 'failFast'>,
): Promise<ProcessHost<Purpose>> {
  const processId = makeProcessId(name, hostname());
  const threshold = { level: config.LOG_LEVEL };
  const identity = { processId, version: readVersion() };
  const loggerOf = (role: string) => createLogger({ ...loggerOptions(config, role), level: threshold }).child(identity);
  const logger = loggerOf(name);
  lifecycle.logger = logger;
  lifecycle.add('log level', switchLogLevel(threshold, logger));
  const { stopping } = lifecycle;
  const registry = createMetrics({ processMetrics: true });
  let missing: string | undefined = 'waits for Redis';
  const checks: Record<string, ReadinessCheck> = {
    start: () => {
      if (missing !== undefined) throw new Error(missing);
    },
  };
  const ops = await startOpsServer({
    ...{ host: config.OPS_HOST, port: config.OPS_PORT, registry, logger, stopping, checks },
  });
  // The first to start is the last to stop: the end can be watched.
  lifecycle.add('ops server', ops.close);
  const endpoint = config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint) lifecycle.add('tracing', await startTracing({ endpoint, name, logger, ...identity }));
  const waits = config.REDIS_WAIT_REPLICAS > 0;
  const all: readonly (Purpose | Always)[] = waits ? [...purposes, 'confirms'] : purposes;
  const metrics = addProcessMetrics(registry, () =>
    Object.fromEntries(all.map((purpose) => [purpose, clients[purpose].status === 'ready'])),
  );
  const { onCommand } = metrics;
  const clients: RedisClients<Purpose | Always> = createRedisClients<Purpose | Always>({
    ...{ url: config.REDIS_URL, logger, name, purposes: all, onCommand, waitAtFirst: true },
  });
  lifecycle.add('redis', clients.close);
  await clients.waitForReady(stopping);
  missing = 'under way';
  const doubts = await refuseWrongSettings(clients.failFast, { withoutAof: config.REDIS_WITHOUT_AOF });
  for (const reason of doubts) logger.warn('redis is not as it should be', { reason });
  const confirmWrites = waits ? confirmBy(config.REDIS_WAIT_REPLICAS, clients, lifecycle) : confirmNothing;
  if (waits) checks.confirms = () => assertConfirms(clients);
  const tell = tellWrongClocks(logger);
  const stopFollowing = await followRedisTime(clients.failFast, {
    onNodes: (aheadMs) => {
      metrics.noteNodeClocks(aheadMs);
      tell(aheadMs);
    },
  });
  lifecycle.add('time of redis', async () => stopFollowing());

  const shared = new Map<string, unknown>();
  return {
    ...{ processId, lifecycle, clients, registry, opsPort: ops.port, loggerOf },
    confirmWrites,
    noteSettings: metrics.noteSettings,
    share: <Shared>(key: string, make: () => Shared) => {
      if (!shared.has(key)) shared.set(key, make());
      return shared.get(key) as Shared;
    },
    addCheck: (key, check) => {
      checks[key] = check;
    },
    started: () => {
      missing = undefined;
      clients.failFastFromNow();
    },
  };
}

/** SIGUSR2 turns `debug` on, and a second one off: no restart takes away what is to be looked at. Returns what stops that. */
function switchLogLevel(threshold: LogThreshold, logger: Logger): () => Promise<void> {
  const usual = threshold.level;
  const toggle = () => {
    threshold.level = threshold.level === 'debug' ? usual : 'debug';
    logger.warn('log level changed', { threshold: threshold.level });
  };
  process.on('SIGUSR2', toggle);
  return async () => void process.off('SIGUSR2', toggle);
}

function confirmBy(replicas: number, { confirms }: RedisClients<Always>, lifecycle: Lifecycle): ConfirmWrites {
  const { confirm, stop } = confirmByReplicas(confirms, replicas);
  lifecycle.add('watch over replicas', async () => stop());
  return confirm;
}

/** As long as a caller may wait for one; a check of the ops server has two seconds. */
const ANSWER_MS = 1_000;

/**
 * A process that writes and cannot confirm answers every promise with a 503, where others may do better. Its masters are asked twice a
 * second, so a connection that is not answered is soon not ready. A master that answers no connection is no reason, see above: of one
 * that hangs, a connection by which nothing was asked lately does not know. Nor is one that has only just become a master, and of which
 * the connection has not heard: a promise would lead it there.
 */
async function assertConfirms({ failFast, confirms }: RedisClients<Always>): Promise<void> {
  const reached = connectedMasters(confirms).map(addressOfNode);
  const missing = connectedMasters(failFast).filter((node) => !reached.includes(addressOfNode(node)));
  const isBehind = await Promise.all(
    missing.map(async (node) => {
      const [answers, isReached] = await Promise.all([answersSoon(node.ping()), answersSoon(reach(confirms, node))]);
      return answers && !isReached;
    }),
  );
  if (isBehind.includes(true)) throw new Error('the connection that confirms writes does not answer');
}

function connectedMasters(redis: Redis): Redis[] {
  return masterNodes(redis).filter(({ status }) => status === 'ready');
}

/** The same master, by another client. One that is none any more, as the others say, need not be reached: it refuses what is written. */
async function reach(redis: Redis, master: Redis): Promise<void> {
  const isTold = await refreshMasters(redis);
  const address = addressOfNode(master);
  const node = masterNodes(redis).find((each) => addressOfNode(each) === address);
  if (node) await node.ping();
  else if (!isTold) throw new Error('no node of the Cluster answers');
}

function answersSoon(answer: Promise<unknown>): Promise<boolean> {
  const answered = answer.then(
    () => true,
    () => false,
  );
  return Promise.race([answered, sleep(ANSWER_MS).then(() => false)]);
}
