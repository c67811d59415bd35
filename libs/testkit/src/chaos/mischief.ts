import { sleep } from '@gateway/runtime/clock';
import type { Simulator } from '@gateway/simulator/start-simulator';
import type { Fleet } from './fleet.js';
import type { Random } from './random.js';
import type { RedisOfRun } from './redis/redis-of-run.js';

export interface Mischief {
  /** Processes killed, Redis included. */
  kills: number;
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
}

/**
 * The fire waits while it is further ahead than this: where processes start slowly, such as beside other work, blows by
 * the clock alone would leave no time in which a message can go out.
 */
const MESSAGES_A_BLOW = 10;
const LOOK_MS = 100;
/** How late the network says what it restricts, and how often in turn: it is asked two questions at a time. */
const LATE_ANSWER_MS = 600;
const LATE_ANSWERS = 4;

/**
 * Causes faults until it is stopped; kind, target and time come from the seed. Processes die at any line they
 * are on.
 */
export async function makeMischief(world: World, stop: AbortSignal): Promise<Mischief> {
  const done: Mischief = { kills: 0, faults: 0 };
  const running: Promise<void>[] = [];
  const takeBreath = () => pause(world.random.between(300, 1_800) * world.slowness, stop);
  const { counters } = world.simulator.network;
  const acceptedBefore = counters.acceptedStanzas;
  const isAhead = () => running.length * MESSAGES_A_BLOW > counters.acceptedStanzas - acceptedBefore;
  await takeBreath();
  running.push(killSender(world, done));
  while (!stop.aborted) {
    await takeBreath();
    while (isAhead() && !stop.aborted) await pause(LOOK_MS, stop);
    if (stop.aborted) break;
    running.push(doHarm(world, done));
  }
  await Promise.all(running);
  return done;
}

const SENDER_SHARE = 0.6;
const EVENTS_SHARE = 0.2;
const KINDS = ['kill', 'kill', 'stop', 'freeze', 'network', 'network', 'network', 'cut', 'lock'] as const;

/** What every run begins with: without a kill it would prove nothing. */
async function killSender({ fleet, random }: World, done: Mischief): Promise<void> {
  done.kills++;
  await fleet.kill(random.pick(fleet.idle().filter(({ service }) => service === 'sender')));
}

async function doHarm({ fleet, redis, simulator, random, accounts }: World, done: Mischief): Promise<void> {
  const kind = random.pick([...KINDS, ...Array.from({ length: redis.weight }, () => 'redis' as const)]);
  const idle = fleet.idle();
  // Most of it hits senders and those that tell of changes: they have the most to lose.
  const drawn = random.next();
  const favoured = drawn < SENDER_SHARE ? 'sender' : drawn < SENDER_SHARE + EVENTS_SHARE ? 'events' : undefined;
  const chosen = idle.filter(({ service }) => service === favoured);
  const victim = random.pick(chosen.length > 0 ? chosen : idle);
  const duration = random.between(500, 5_000);
  const fault = random.pick(NETWORK_FAULTS);
  const count = random.between(1, 5);
  const account = random.pick(accounts);
  // Half of the locks are over before the network has answered about them.
  const lockMs = random.next() < 0.5 ? random.between(100, LATE_ANSWER_MS / 2) : duration;
  switch (kind) {
    case 'kill':
      if (!victim) return;
      done.kills++;
      return fleet.kill(victim);
    case 'stop':
      if (!victim) return;
      done.faults++;
      return fleet.stop(victim);
    case 'freeze':
      if (!victim) return;
      done.faults++;
      return fleet.freeze(victim, duration);
    case 'network':
      done.faults++;
      simulator.network.faults.add({ ...fault, count });
      return;
    case 'cut':
      done.faults++;
      simulator.restartSockets();
      return;
    case 'lock':
      done.faults++;
      return lockAccount(simulator, account, lockMs);
    case 'redis':
      return hurtRedis(redis, random, done);
  }
}

async function hurtRedis(redis: RedisOfRun, random: Random, done: Mischief): Promise<void> {
  const blow = await redis.hurt(random);
  if (blow) done[blow.isKill ? 'kills' : 'faults']++;
}

/** For a time, the account may start no new conversation: its messages to strangers must wait. */
async function lockAccount(simulator: Simulator, account: string, ms: number): Promise<void> {
  const match = { account, xmlns: 'w:mex' };
  simulator.network.faults.add({ on: 'iq', match, do: { delayMs: LATE_ANSWER_MS }, count: LATE_ANSWERS });
  const response = await fetch(`${simulator.adminUrl}/admin/accounts/${account}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ restrictions: { reachoutLockedUntilMs: Date.now() + ms } }),
  });
  if (!response.ok) throw new Error(`account not locked: ${await response.text()}`);
}

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  await sleep(ms, stop).catch(() => {});
}
