import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { otpText } from '@gateway/contracts/content/otp-text';
import { sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { createStore, type Store } from '@gateway/store/core/store';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { listMembers } from '@gateway/store/fleet/members';
import { readSend } from '@gateway/store/sends/read-send';
import { createApiToken } from '@gateway/store/workspace/api-tokens';
import PQueue from 'p-queue';
import { eventually } from '../eventually.js';
import { codeAfter } from '../gateway.js';
import { makeNumbers } from '../phones.js';
import { findSteadyPort } from '../redis-servers/steady-port.js';
import { readKeyRings } from '../redis-space.js';
import { makePng } from '../sample-files.js';
import { scanCodes } from '../scan-codes.js';
import type { Account } from './account-for.js';
import { postUntilAnswered } from './client.js';
import { compareTotals } from './compare-totals.js';
import { Audience, type AudienceResult, isToldRight } from './events/audience.js';
import { writeFromPhones } from './events/phone-talk.js';
import { RECEIVER_KINDS, type ReceiverKind } from './events/receiver.js';
import { Fleet } from './fleet.js';
import { type Mischief, makeMischief } from './mischief.js';
import { planRefusals } from './plan-refusals.js';
import { Random } from './random.js';
import type { RedisOfRun } from './redis/redis-of-run.js';
import { type RedisKind, startRedis } from './redis/start-redis.js';
import { type Line, type PromisedSend, takeAccount } from './take-account.js';

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
  /** Says what happens, for people. */
  say(line: string): void;
}

export interface ChaosResult extends Account, Mischief {
  rounds: number;
  seed: number;
  redis: RedisKind;
  waitReplicas: number;
  /** What befell Redis. */
  redisBlows: number;
  /** Promised sends of which Redis has no record any more. */
  forgotten: number;
  /** Recipients that metrics count otherwise than promises and phones do. */
  miscounted: number;
  /** Whether nothing may be lost: see docs/durability.md. */
  keepsPromises: boolean;
  /** What all who want events were told together. */
  events: AudienceResult;
}

const KEYS = { CREDENTIAL_KEYS: `k:${'0b'.repeat(32)}`, CONTENT_KEYS: `k:${'0c'.repeat(32)}` };
/** Longer than the longest pause before a message is tried again. */
const SETTLE_MS = 330_000;
const MAX_FIRE_MS = 300_000;
const LOOK_MS = 1_000;
/**
 * Devices that two cores can open again between two blows. A blow meets all devices of a process, or all there are:
 * without the time to open them a run would measure nothing but how fast sockets can be opened.
 */
const DEVICES_A_BLOW = 250;
/** Devices that are linked, or given a list. */
const AT_A_TIME = 16;
/** Per device: `/otp` takes ten a minute. */
const OTP_EVERY_MS = 7_000;
const LEAST_OTP_GAP_MS = 500;

/** Runs a gateway of several processes through everything that can go wrong, and accounts for every message. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const random = new Random(options.seed);
  const logFolder = mkdtempSync(join(tmpdir(), 'gateway-chaos-logs-'));
  const { redis: kind = 'single', waitReplicas = 0, say } = options;
  const redis = await startRedis(kind, { logFolder, waitReplicas, say });
  const simulator = await startSimulator({ seed: `chaos-${options.seed}` });
  const logger = createLogger({ service: 'chaos', level: 'error', destination: process.stderr });
  const clients = createRedisClients({ url: redis.url, logger: { ...logger, warn: () => {} } });
  await clients.waitForReady();
  const store = createStore({
    redis: clients.commands,
    space: { prefix: 'gw' },
    keyRings: readKeyRings(KEYS),
  });
  const fleet = new Fleet(logFolder);
  let audience: Audience | undefined;
  let isWhole = false;
  try {
    const bases = await startFleet(fleet, simulator, {
      REDIS_URL: redis.url,
      REDIS_WAIT_REPLICAS: String(waitReplicas),
    });
    const lines = await linkDevices(store, simulator, bases, options.devices);
    say(`${fleet.places.length} processes, ${lines.length} devices linked; ${await describeShares(store)}`);
    const { rounds, seed, receivers = RECEIVER_KINDS } = options;
    audience = await Audience.gather(store, { bases, seed, kinds: receivers });
    const { keepsPromises } = redis;
    const sends: PromisedSend[] = [];
    const total = { rounds, seed, redis: kind, waitReplicas, keepsPromises, redisBlows: 0, miscounted: 0, ...NOTHING };
    for (let round = 1; round <= options.rounds; round++) {
      const world = { ...options, round, random, redis, simulator, store, fleet, bases, lines, audience };
      const { result, promised } = await runRound(world);
      sends.push(...promised);
      for (const key of Object.keys(NOTHING) as (keyof typeof NOTHING)[]) total[key] += result[key];
      say(`round ${round}: ${JSON.stringify(result)}`);
    }
    total.miscounted = await compareTotals(store, total);
    const events = await audience.takeAccount(store, sends, say);
    const stubborn = await fleet.close();
    if (stubborn.length > 0) throw new Error(`${stubborn.length} processes did not stop when they were asked to`);
    total.redisBlows = redis.blows.length;
    isWhole = total.lost + total.duplicates + total.miscounted === 0 && isToldRight(events);
    return { ...total, events };
  } catch (thrown) {
    // Said at once: what is still running may end the process before it gets there.
    say(`the run broke off: ${toError(thrown).stack}`);
    throw thrown;
  } finally {
    await audience?.close();
    await fleet.close();
    if (isWhole) rmSync(logFolder, { recursive: true, force: true });
    else say(`the logs of all processes are kept in ${logFolder}`);
    await clients.close();
    await simulator.close();
    await redis.stop();
  }
}

const NOTHING = {
  recipients: 0,
  shown: 0,
  failed: 0,
  expired: 0,
  lost: 0,
  duplicates: 0,
  forgotten: 0,
  kills: 0,
  faults: 0,
};

async function startFleet(
  fleet: Fleet,
  simulator: Simulator,
  redisSettings: Record<string, string>,
): Promise<string[]> {
  const env = {
    ...redisSettings,
    ...KEYS,
    MESSENGER_URL: simulator.socketUrl,
    MESSENGER_TRUST: `root:${simulator.rootPublicKeyHex}`,
    WEBHOOK_NETWORKS: '127.0.0.1/32',
    SESSION_TTL_MS: '3000',
    ACK_TIMEOUT_MS: '3000',
    LOG_LEVEL: 'warn',
  };
  const ports = [await findSteadyPort(), await findSteadyPort()];
  const noisy = { ...env, LOG_LEVEL: 'info' };
  await fleet.start([
    ...[1, 2].map(() => ({ service: 'connection' as const, env: noisy })),
    ...[1, 2, 3, 4].map(() => ({ service: 'sender' as const, env: noisy })),
    ...[1, 2].map(() => ({ service: 'events' as const, env: noisy })),
    ...ports.map((port) => ({
      service: 'api' as const,
      env: { ...noisy, CREDENTIAL_KEYS: '', API_PORT: String(port) },
    })),
  ]);
  return ports.map((port) => `http://127.0.0.1:${port}/api/messenger/v1`);
}

/** How the linked devices are shared out among the senders. */
async function describeShares(store: Store): Promise<string> {
  const held = (await listMembers(store)).map((sender) => sender.held);
  return `held by the senders: ${held.join(', ')}`;
}

async function linkDevices(store: Store, simulator: Simulator, bases: string[], count: number): Promise<Line[]> {
  const linking = new PQueue({ concurrency: AT_A_TIME });
  const lines = await linking.addAll(
    Array.from({ length: count }, (_, i) => () => linkDevice(store, simulator, bases, i)),
  );
  await eventually(
    async () => {
      const waiting = await findUnconnected(store, lines);
      if (waiting.length > 0) throw new Error(`not connected: ${JSON.stringify(waiting.slice(0, 10))}`);
      return true;
    },
    { timeoutMs: SETTLE_MS, everyMs: 500 },
  );
  return lines;
}

async function linkDevice(store: Store, simulator: Simulator, bases: string[], i: number): Promise<Line> {
  const device = `chaos-${i}`;
  const number = String(491_600_000_000 + i);
  const { value: token } = await createApiToken(store, 'main', { name: device, device });
  const answer = await postUntilAnswered(bases, '/connect?rawQrCode=true', { token, body: {} });
  const address = { workspace: 'main', device };
  const nextCode = (before: string) => codeAfter(store, address, before);
  // Half of the accounts write by hidden identifier, and half by number.
  const addressing = i % 2 === 0 ? 'lid' : 'pn';
  await scanCodes({ adminUrl: simulator.adminUrl, number, addressing, nextCode }, String(answer.body.qrCode));
  return { address, number, token };
}

async function findUnconnected(store: Store, lines: readonly Line[]): Promise<unknown[]> {
  const states = await Promise.all(
    lines.map(async ({ address }) => {
      const { desired, observed, isOwned } = await readDeviceState(store, address);
      return { ...address, want: desired?.want, status: observed?.status, reason: observed?.reason, isOwned };
    }),
  );
  return states.filter(({ status }) => status !== 'connected');
}

interface Round extends Omit<ChaosOptions, 'redis'> {
  round: number;
  random: Random;
  redis: RedisOfRun;
  simulator: Simulator;
  store: Store;
  fleet: Fleet;
  bases: string[];
  lines: Line[];
  audience: Audience;
}

interface RoundResult {
  result: Account & Mischief & { forgotten: number };
  promised: PromisedSend[];
}

async function runRound(round: Round): Promise<RoundResult> {
  const stop = new AbortController();
  const accounts = round.lines.map(({ number }) => number);
  const slowness = Math.max(1, accounts.length / DEVICES_A_BLOW);
  const mischief = makeMischief({ ...round, accounts, slowness }, stop.signal);
  const talk = writeFromPhones(round.simulator, { accounts, written: round.audience.written }, stop.signal);
  const sending = new PQueue({ concurrency: AT_A_TIME });
  const sends = await sending.addAll(round.lines.map((line) => () => sendList(round, line)));
  const otps = sendOtps(round, sends, stop.signal);
  // Half of the work is done under fire, and the rest while everything heals.
  const isHalfDone = async () =>
    round.redis.hasHadAll && (await countQueued(round.store, sends)) <= (round.lines.length * round.recipients) / 2;
  await eventually(isHalfDone, { timeoutMs: MAX_FIRE_MS, everyMs: LOOK_MS }).catch(() => {
    round.say('not half of the messages went out under fire, or Redis was spared something');
  });
  stop.abort();
  const done = await mischief;
  await Promise.all([otps, talk]);
  round.simulator.network.faults.clear();
  await round.redis.settle();
  await round.fleet.settle();
  await settle(round, sends);
  return { result: { ...(await takeAccount(round, sends)), ...done }, promised: sends };
}

async function sendList(world: Round, line: Line): Promise<PromisedSend> {
  const { bases, round, recipients, seed, lines, simulator } = world;
  const marker = `chaos ${seed}/${round}/${line.address.device}`;
  const series = round * 1_000 + Number(line.address.device.split('-')[1]);
  const to = makeNumbers(recipients, series);
  const refused = await planRefusals(simulator, new Random(seed + series), { from: line.number, to });
  // The text is then the caption.
  const attachment = { type: 'image', base64: makePng(64, 64).toString('base64') };
  const body = { to, text: marker, ...(line === lines[0] && { attachment }) };
  const answer = await postUntilAnswered(bases, '/send', { token: line.token, body });
  if (answer.status !== 202) throw new Error(`list refused: ${JSON.stringify(answer)}`);
  return { line, messageId: String(answer.body.messageId), marker, refused, to, promisedAtMs: Date.now() };
}

/** One-time passwords between the lists, for as long as the mischief goes on: each to a number of its own. */
async function sendOtps(round: Round, sends: PromisedSend[], stop: AbortSignal): Promise<void> {
  for (let i = 0; !stop.aborted; i++) {
    const line = round.lines[i % round.lines.length]!;
    sends.push(await sendOtp(round, line, i));
    await sleep(Math.max(OTP_EVERY_MS / round.lines.length, LEAST_OTP_GAP_MS), stop).catch(() => {});
  }
}

async function sendOtp({ bases, round }: Round, line: Line, i: number): Promise<PromisedSend> {
  const code = String(10_000_000 + round * 100_000 + i);
  const [phone] = makeNumbers(1, 500_000 + round * 1_000 + i);
  const answer = await postUntilAnswered(bases, '/otp', { token: line.token, body: { phone, code } });
  if (answer.status > 202) throw new Error(`OTP refused: ${JSON.stringify(answer)}`);
  const { messageId } = answer.body.data as { messageId: string };
  return {
    line,
    messageId,
    marker: otpText(code, 'English'),
    refused: new Set(),
    to: [phone!],
    promisedAtMs: Date.now(),
  };
}

/** Until every message is sent or has failed. There is no timeout as long as there is progress. */
async function settle({ store }: Round, sends: readonly PromisedSend[]): Promise<void> {
  let left = await countQueued(store, sends);
  while (left > 0) {
    const before = left;
    const isLess = async () => {
      left = await countQueued(store, sends);
      return left < before;
    };
    await eventually(isLess, { timeoutMs: SETTLE_MS, everyMs: LOOK_MS, what: 'that fewer messages wait' });
  }
}

async function countQueued(store: Store, sends: readonly PromisedSend[]): Promise<number> {
  const counts = await Promise.all(
    sends.map(async ({ line, messageId }) => (await readSend(store, line.address, messageId))?.counts.queued ?? 0),
  );
  return counts.reduce((sum, queued) => sum + queued, 0);
}
