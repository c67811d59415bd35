import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { createStore, type Store } from '@gateway/store/core/store';
import { readRestriction } from '@gateway/store/devices/incidents/restrictions';
import { listMembers } from '@gateway/store/fleet/members';
import { readKeyRings } from '../redis-space.js';
import { type Account, NO_ACCOUNT } from './account-for.js';
import { askSimulator } from './ask-simulator.js';
import { compareTotals } from './compare-totals.js';
import { Audience, type AudienceResult, isToldRight } from './events/audience.js';
import { RECEIVER_KINDS, type ReceiverKind } from './events/receiver.js';
import { Fleet } from './fleet/fleet.js';
import { linkDevices } from './fleet/link-devices.js';
import { KEYS, startGateway } from './fleet/start-gateway.js';
import type { Mischief } from './mischief/make-mischief.js';
import { Progress } from './progress.js';
import { Random } from './random.js';
import type { RedisOfRun } from './redis/redis-of-run.js';
import { type RedisKind, startRedis } from './redis/start-redis.js';
import { runRound } from './run-round.js';
import type { Line, PromisedSend } from './take-account.js';

export interface ChaosOptions {
  rounds: number;
  seed: number;
  devices: number;
  /** Per list; each device gets one list a round. */
  recipients: number;
  redis?: RedisKind;
  /** `REDIS_WAIT_REPLICAS` of the gateway. */
  waitReplicas?: number;
  /** Behind the webhooks. Default: one of each kind. */
  receivers?: readonly ReceiverKind[];
  /** The longest that a round's fire burns. */
  fireMs?: number;
  /** Says what happens, for people. */
  say(line: string): void;
  /** Breaks the run off. */
  signal?: AbortSignal;
}

export interface ChaosResult extends Account, Mischief {
  rounds: number;
  seed: number;
  redis: RedisKind;
  waitReplicas: number;
  /** What befell Redis. */
  redisBlows: number;
  /** Kinds of blows that it was spared, as the fire did not last long enough. */
  spared: readonly string[];
  /** Promised sends of which Redis has no record any more. */
  forgotten: number;
  /** Recipients that metrics count otherwise than promises and phones do. */
  miscounted: number;
  /** Whether nothing may be lost: see docs/durability.md. */
  keepsPromises: boolean;
  /** What all who want events were told together. */
  events: AudienceResult;
}

interface Run {
  options: ChaosOptions;
  logFolder: string;
  progress: Progress;
  /** Of what was started. The last one ends first. */
  ends: (() => Promise<unknown>)[];
}

/** Runs a gateway of several processes through everything that can go wrong, and accounts for every message. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { say, signal } = options;
  const progress = new Progress({ say });
  signal?.addEventListener('abort', () => progress.fail(new Error('the run was asked to end')));
  const run: Run = { options, logFolder: mkdtempSync(join(tmpdir(), 'gateway-chaos-logs-')), progress, ends: [] };
  let result: ChaosResult | undefined;
  try {
    result = await Promise.race([runAll(run), progress.failed]);
    return result;
  } catch (thrown) {
    // Said at once: what is still running may end the process before it gets there.
    say(`the run broke off: ${toError(thrown).stack}`);
    throw thrown;
  } finally {
    progress.close();
    for (const end of run.ends.reverse()) await end().catch((thrown) => say(`not ended: ${toError(thrown).stack}`));
    if (result && isKept(result)) rmSync(run.logFolder, { recursive: true, force: true });
    else say(`the logs of all processes are kept in ${run.logFolder}`);
  }
}

/** Nothing is lost, shown twice, shown to those who do not want it, or miscounted, and all who want events were told right. */
function isKept({ lost, duplicates, unwanted, miscounted, events }: ChaosResult): boolean {
  return lost + duplicates + unwanted + miscounted === 0 && isToldRight(events);
}

/** Whether a run has passed, and what to say of it. It fails as well if it was too mild, or if too little came out, to prove anything. */
export function judge(result: ChaosResult): { passed: boolean; verdict: string } {
  const { recipients, shown, failed, expired, cancelled, unwilling, lost, duplicates, unwanted } = result;
  const { seed, eventsKills, spared, keepsPromises, events } = result;
  const isWhole = shown + failed + expired + cancelled === recipients;
  const keeps = isWhole && isKept(result);
  const isHurt = eventsKills > 0 && events.consumerKills > 0 && events.repeats > 0 && spared.length === 0;
  const mayBeLost = keepsPromises ? 0 : lost;
  const isOut = events.told > 0 && shown > 0 && shown >= (recipients - cancelled - unwilling - mayBeLost) * 0.95;
  const isProof = isHurt && isOut && cancelled > 0 && unwilling > 0;
  // What was forgotten is sent again under the same ids, which phones show once: all in a run has an `Idempotency-Key`.
  const mayBeBroken = !keepsPromises && duplicates === 0;
  const passed = (keeps || mayBeBroken) && isProof;
  return { passed, verdict: describe() };

  function describe(): string {
    if (spared.length > 0) return `FAILED: Redis was spared ${spared.join(', ')}; repeat it with --seed ${seed}`;
    if (!passed) return `FAILED; repeat it with --seed ${seed}`;
    if (keeps)
      return 'Nothing lost, nothing shown twice or to those who do not want it; each change counted, told once, and in order.';
    return `${lost} lost, ${duplicates} shown twice, ${unwanted} not wanted; of events ${events.lost} lost: no replica was asked to confirm (docs/durability.md).`;
  }
}

async function runAll(run: Run): Promise<ChaosResult> {
  const { options, progress } = run;
  const { rounds, seed, say, waitReplicas = 0, redis: kind = 'single', receivers = RECEIVER_KINDS } = options;
  const { redis, simulator, store, fleet, bases } = await startWorld(run);
  progress.enter('webhooks are made', () => '');
  const audience = await Audience.gather(store, { bases, seed, kinds: receivers });
  run.ends.push(() => audience.close());
  const lines = await linkDevices({ store, simulator, bases, progress }, options.devices);
  say(`${fleet.places.length} processes, ${lines.length} devices linked; ${await describeShares(store)}`);
  const random = new Random(seed);
  const sends: PromisedSend[] = [];
  const total = { ...NOTHING };
  for (let round = 1; round <= rounds; round++) {
    const world = { ...options, round, random, redis, simulator, store, fleet, bases, lines, audience, progress };
    const { result, promised } = await runRound(world);
    sends.push(...promised);
    for (const key of Object.keys(NOTHING) as (keyof typeof NOTHING)[]) total[key] += result[key];
    say(`round ${round}: ${JSON.stringify(result)}`);
  }
  const miscounted = await compareTotals(store, total);
  progress.enter('a device is restricted, to be told of at last', () => '');
  await restrictForGood(simulator, store, lines[0]!);
  progress.enter('the events arrive', () => `${audience.missing} are missing`);
  const events = await audience.takeAccount(store, sends, { written: redis.written?.(), say });
  await stopAll(fleet, progress);
  const { keepsPromises, spared, blows } = redis;
  return {
    ...{ rounds, seed, redis: kind, waitReplicas, keepsPromises, redisBlows: blows.length, spared },
    ...{ miscounted, ...total, events },
  };
}

const NOTHING = {
  ...NO_ACCOUNT,
  forgotten: 0,
  kills: 0,
  eventsKills: 0,
  faults: 0,
};

const DAY_MS = 86_400_000;
const LOOK_MS = 200;

interface World {
  redis: RedisOfRun;
  simulator: Simulator;
  store: Store;
  fleet: Fleet;
  bases: string[];
}

async function startWorld({ options, logFolder, progress, ends }: Run): Promise<World> {
  const { redis: kind = 'single', waitReplicas = 0, seed, say } = options;
  progress.enter('Redis starts', () => '');
  const redis = await startRedis(kind, { logFolder, waitReplicas, say });
  ends.push(() => redis.stop());
  const simulator = await startSimulator({ seed: `chaos-${seed}` });
  ends.push(() => simulator.close());
  const logger = createLogger({ service: 'chaos', level: 'error', destination: process.stderr });
  const clients = createRedisClients({ url: redis.url, logger: { ...logger, warn: () => {} } });
  ends.push(() => clients.close());
  await clients.waitForReady();
  const store = createStore({ redis: clients.commands, space: { prefix: 'gw' }, keyRings: readKeyRings(KEYS) });
  const fleet = new Fleet(logFolder);
  ends.push(() => fleet.end());
  progress.enter('processes start', () => `${fleet.places.length} are up`);
  const redisSettings = { REDIS_URL: redis.url, REDIS_WAIT_REPLICAS: String(waitReplicas) };
  return { redis, simulator, store, fleet, bases: await startGateway(fleet, simulator, redisSettings) };
}

/** Else none is restricted in the end, whether that is told or not. */
async function restrictForGood(simulator: Simulator, store: Store, { address, number }: Line): Promise<void> {
  const body = { restrictions: { reachoutLockedUntilMs: Date.now() + DAY_MS } };
  await askSimulator(simulator, `accounts/${number}`, { method: 'PUT', body });
  while (!(await readRestriction(store, address))) await sleep(LOOK_MS);
}

/** How the linked devices are shared out among the senders. */
async function describeShares(store: Store): Promise<string> {
  const held = (await listMembers(store)).map((sender) => sender.held);
  return `held by the senders: ${held.join(', ')}`;
}

async function stopAll(fleet: Fleet, progress: Progress): Promise<void> {
  progress.enter('processes stop', () => '');
  const stubborn = await fleet.close();
  if (stubborn.length > 0) throw new Error(`${stubborn.length} processes did not stop when they were asked to`);
}
