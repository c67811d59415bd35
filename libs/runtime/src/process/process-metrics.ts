import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { clockAheadMs } from '../clock.js';
import { isRedisAway, isRedisFull } from '../redis/is-redis-away.js';
import type { RedisPurpose } from '../redis/redis-clients.js';
import { addMetrics, counter, gauge, histogram, type Registry, snakeCase } from './metrics.js';

/** Connections whose commands answer at once: those of BullMQ's workers wait for jobs, and a subscriber only listens. */
/** Those in which processes must agree, as their metric names them. */
const SETTINGS = {
  PACE_PER_MINUTE: 'pace',
  MESSENGER_TRUST: 'trust',
  CONTENT_KEYS: 'content_keys',
  CREDENTIAL_KEYS: 'credential_keys',
  REDIS_WAIT_REPLICAS: 'redis_wait_replicas',
  WEBHOOK_NETWORKS: 'webhook_networks',
  WEBHOOK_DENIED_NETWORKS: 'webhook_denied_networks',
  NAT64_PREFIXES: 'nat64_prefixes',
} as const;
const TIMED = ['commands', 'failFast'] as const satisfies RedisPurpose[];
type Timed = (typeof TIMED)[number];
const REDIS_BUCKETS = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2] as const;

/** What every process tells of itself. */
export const PROCESS_METRICS = {
  build: gauge('gateway_build_info', {
    help: 'Always 1.',
    question: 'Which versions run side by side?',
    labels: { version: 'open', node_version: 'open' },
  }),
  config: gauge('gateway_config_info', {
    help: 'Always 1: a digest of each setting that processes must agree in; of keys, their ids.',
    question: 'Do processes differ in a setting? Then a `setting` has two fingerprints.',
    labels: { setting: Object.values(SETTINGS), fingerprint: 'open' },
  }),
  clockOffset: gauge('gateway_clock_offset_seconds', {
    help: 'How far the clock of this machine is ahead of that of Redis, which processes go by.',
    question: 'Is the clock of a machine wrong? Times in its log are, then.',
  }),
  nodeClockOffset: gauge('gateway_redis_clock_offset_seconds', {
    help: 'How far the clock of a master of a Redis Cluster is ahead of that of most, which processes go by.',
    question: 'Is the clock of a master wrong?',
    labels: { node: 'open' },
    of: 'fleet',
  }),
  redisUp: gauge('gateway_redis_up', {
    help: '1 while this connection to Redis is ready, else 0.',
    question: 'Does this process reach Redis?',
    labels: { connection: 'open' },
  }),
  redisSeconds: histogram('gateway_redis_command_duration_seconds', {
    help: 'Time from a command to its answer.',
    question: 'Is Redis, or the way to it, slow?',
    labels: { connection: TIMED.map(snakeCase) },
    buckets: REDIS_BUCKETS,
  }),
  redisErrors: counter('gateway_redis_command_errors_total', {
    help: 'Commands without an answer (`away`), refused because Redis is full (`full`), or refused otherwise (`other`).',
    question: 'Does Redis refuse work, or is it not there?',
    labels: { connection: TIMED.map(snakeCase), cause: ['away', 'full', 'other'] },
  }),
} as const;

export interface ProcessMetrics {
  /** For each command of a connection, when it has ended. */
  onCommand(purpose: RedisPurpose): ((seconds: number, error?: Error) => void) | undefined;
  noteSettings(config: object): void;
  /** By how many ms the clock of each master of a Cluster that answers is ahead. */
  noteNodeClocks(aheadMs: ReadonlyMap<string, number>): void;
}

/** @param readStatus which connections there are, and whether each is ready. */
export function addProcessMetrics(registry: Registry, readStatus: () => Record<string, boolean>): ProcessMetrics {
  const { build, config, nodeClockOffset, redisSeconds, redisErrors } = addMetrics(registry, PROCESS_METRICS, {
    clockOffset: (offset) => offset.set(clockAheadMs() / 1000),
    redisUp: (up) => {
      for (const [name, isReady] of Object.entries(readStatus()))
        up.set({ connection: snakeCase(name) }, Number(isReady));
    },
  });
  build.set({ version: readVersion(), node_version: process.version }, 1);
  const isTimed = (purpose: RedisPurpose): purpose is Timed => (TIMED as readonly string[]).includes(purpose);
  return {
    onCommand(purpose) {
      if (!isTimed(purpose)) return undefined;
      const connection = snakeCase(purpose);
      const timer = redisSeconds.labels({ connection });
      return (seconds, error) => {
        timer.observe(seconds);
        const cause = error && causeOf(error);
        if (cause) redisErrors.inc({ connection, cause });
      };
    },
    noteSettings(settings) {
      for (const [setting, fingerprint] of fingerprintsOf(settings)) config.set({ setting, fingerprint }, 1);
    },
    noteNodeClocks(aheadMs) {
      // Not of those that are away, or have gone.
      nodeClockOffset.reset();
      for (const [node, ms] of aheadMs) nodeClockOffset.set({ node }, ms / 1000);
    },
  };
}

/** Answers of our own Lua steps, and the question for their text. */
const OURS = /^(NOSCRIPT|FENCED|UNKNOWN_VERSION)\b/;

function causeOf(error: Error): 'away' | 'full' | 'other' | undefined {
  if (OURS.test(error.message)) return undefined;
  if (isRedisFull(error)) return 'full';
  return isRedisAway(error) ? 'away' : 'other';
}

/** The same in every package. */
export function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** Of keys only the ids: no digest of a secret leaves the process. */
function fingerprintsOf(settings: object): [setting: string, fingerprint: string][] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const setting = SETTINGS[name as keyof typeof SETTINGS];
    if (!setting) return [];
    const shown = Array.isArray(value) ? value.map(({ id }: { id: string }) => id) : value;
    return [[setting, createHash('sha256').update(JSON.stringify(shown)).digest('hex').slice(0, 8)]];
  });
}
