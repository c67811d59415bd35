import { sleep } from '@gateway/runtime/clock';
import type { Simulator } from '@gateway/simulator/start-simulator';
import { askSimulator } from '../ask-simulator.js';
import type { Fleet, Place } from '../fleet/fleet.js';
import type { Random } from '../random.js';
import type { RedisOfRun } from '../redis/redis-of-run.js';
import { isAhead } from './fire-pace.js';

export interface Mischief {
  /** Processes killed, Redis included. */
  kills: number;
  /** Of these, such that bring events. */
  eventsKills: number;
  /** Everything else that was done to the gateway. */
  faults: number;
}

type Rule = Parameters<Simulator['network']['faults']['add']>[0];

/** Faults of the network from which nothing may be lost: none of them is a final refusal. */
const NETWORK_FAULTS: Pick<Rule, 'on' | 'do'>[] = [
  { on: 'message', do: { dropAck: true } },
  { on: 'message', do: { silent: true } },
  { on: 'message', do: { closeBeforeAck: true } },
  { on: 'message', do: { closeBeforeAck: true, accept: false } },
  { on: 'message', do: { closeAfterAck: true } },
  { on: 'message', do: { streamError: 503 } },
  { on: 'message', do: { streamError: 515 } },
  { on: 'message', do: { ackError: 429 } },
  { on: 'message', do: { ackError: 479 } },
  { on: 'message', do: { ackError: 503 } },
  { on: 'message', do: { delayMs: 200, jitterMs: 400 } },
  { on: 'iq', do: { error: 503 } },
  { on: 'iq', do: { delayMs: 300, jitterMs: 600 } },
  { on: 'receipt', do: { silent: true } },
  { on: 'upload', do: { error: 500 } },
  { on: 'wire', do: { bytesPerSecond: 20_000 } },
  { on: 'login', do: { error: 503 } },
  { on: 'connect', do: { error: 503 } },
  { on: 'connect', do: { silent: true } },
];

interface World {
  fleet: Fleet;
  redis: RedisOfRun;
  simulator: Simulator;
  random: Random;
  /** The senders' numbers. */
  accounts: readonly string[];
  /** 1: about a blow a second. */
  slowness: number;
  /** All that is to go out in this round, one-time passwords aside. */
  messages: number;
  /** Messages that are not out. */
  waiting(): number;
  /** Ends the run. */
  fail(thrown: unknown): void;
  say(line: string): void;
}

const LOOK_MS = 100;
/** Of the fire, for messages: their next attempt may be minutes away. */
const LONGEST_WAIT_MS = 20_000;
/** How late the network says what it restricts, and how often in turn: it is asked two questions at a time. */
const LATE_ANSWER_MS = 600;
const LATE_ANSWERS = 4;

/**
 * Causes faults until it is stopped; kind, target and time come from the seed. Processes die at any line they
 * are on.
 */
export async function makeMischief(world: World, stop: AbortSignal): Promise<Mischief> {
  const done: Mischief = { kills: 0, eventsKills: 0, faults: 0 };
  const running: Promise<void>[] = [];
  const takeBreath = () => pause(world.random.between(300, 1_800) * world.slowness, stop);
  const { counters } = world.simulator.network;
  const acceptedBefore = counters.acceptedStanzas;
  const mustWait = () => {
    const accepted = counters.acceptedStanzas - acceptedBefore;
    return isAhead(world, { blows: running.length, waiting: world.waiting(), accepted });
  };
  const begin = (harm: Promise<void>) => running.push(harm.catch(world.fail));
  await takeBreath();
  for (const [kind, service] of HURT_FIRST) {
    begin(hurtOne(world, done, { kind, service }));
    await takeBreath();
  }
  while (!stop.aborted) {
    await waitWhile(mustWait, stop);
    if (stop.aborted) break;
    begin(doHarm(world, done));
    await takeBreath();
  }
  await Promise.all(running);
  return done;
}

const SENDER_SHARE = 0.6;
const EVENTS_SHARE = 0.2;
const KINDS = ['kill', 'kill', 'stop', 'freeze', 'network', 'network', 'network', 'cut', 'lock'] as const;

/** What every run begins with: without these it would prove nothing. */
const HURT_FIRST = [
  ['kill', 'sender'],
  ['kill', 'events'],
  ['freeze', 'events'],
] as const;
const FROZEN_FIRST_MS = 2_000;

function hurtOne(
  world: World,
  done: Mischief,
  { kind, service }: { kind: 'kill' | 'freeze'; service: Place['service'] },
): Promise<void> {
  const victim = world.random.pick(world.fleet.idle().filter((place) => place.service === service));
  return hurtProcess(world, done, { kind, victim, ms: FROZEN_FIRST_MS });
}

async function doHarm(world: World, done: Mischief): Promise<void> {
  const { fleet, redis, simulator, random, accounts, say } = world;
  const kind = random.pick([...KINDS, ...Array.from({ length: redis.weight }, () => 'redis' as const)]);
  const idle = fleet.idle();
  // Most of it hits senders and those that tell of changes: they have the most to lose.
  const drawn = random.next();
  const favoured = drawn < SENDER_SHARE ? 'sender' : drawn < SENDER_SHARE + EVENTS_SHARE ? 'events' : undefined;
  const chosen = idle.filter(({ service }) => service === favoured);
  const victim = random.pick(chosen.length > 0 ? chosen : idle);
  const ms = random.between(500, 5_000);
  const fault = random.pick(NETWORK_FAULTS);
  const count = random.between(1, 5);
  const account = random.pick(accounts);
  // Half of the locks are over before the network has answered about them.
  const lockMs = random.next() < 0.5 ? random.between(100, LATE_ANSWER_MS / 2) : ms;
  switch (kind) {
    case 'kill':
    case 'stop':
    case 'freeze':
      return victim && hurtProcess(world, done, { kind, victim, ms });
    case 'network':
      done.faults++;
      say(`network: ${JSON.stringify({ ...fault, count })}`);
      simulator.network.faults.add({ ...fault, count });
      return;
    case 'cut':
      done.faults++;
      say('network: all sockets are cut');
      simulator.restartSockets();
      return;
    case 'lock':
      done.faults++;
      say(`network: locks ${account} for ${lockMs} ms`);
      return lockAccount(simulator, account, lockMs);
    case 'redis':
      return hurtRedis(redis, random, done);
  }
}

async function hurtProcess(
  { fleet, say }: World,
  done: Mischief,
  { kind, victim, ms }: { kind: 'kill' | 'stop' | 'freeze'; victim: Place; ms: number },
): Promise<void> {
  done[kind === 'kill' ? 'kills' : 'faults']++;
  if (kind === 'kill' && victim.service === 'events') done.eventsKills++;
  say(`${kind} ${victim.service} ${victim.running.pid}${kind === 'freeze' ? ` for ${ms} ms` : ''}`);
  if (kind === 'freeze') return fleet.freeze(victim, ms);
  return kind === 'kill' ? fleet.kill(victim) : fleet.stop(victim);
}

async function hurtRedis(redis: RedisOfRun, random: Random, done: Mischief): Promise<void> {
  const blow = await redis.hurt(random);
  if (blow) done[blow.isKill ? 'kills' : 'faults']++;
}

/** For a time, the account may start no new conversation: its messages to strangers must wait. */
async function lockAccount(simulator: Simulator, account: string, ms: number): Promise<void> {
  const match = { account, xmlns: 'w:mex' };
  simulator.network.faults.add({ on: 'iq', match, do: { delayMs: LATE_ANSWER_MS }, count: LATE_ANSWERS });
  const body = { restrictions: { reachoutLockedUntilMs: Date.now() + ms } };
  await askSimulator(simulator, `accounts/${account}`, { method: 'PUT', body });
}

async function waitWhile(mustWait: () => boolean, stop: AbortSignal): Promise<void> {
  const deadline = performance.now() + LONGEST_WAIT_MS;
  while (mustWait() && !stop.aborted && performance.now() < deadline) await pause(LOOK_MS, stop);
}

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  await sleep(ms, stop).catch(() => {});
}
