import { Gateway } from '@gateway/testkit/gateway';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { profileSettings } from '../config.js';
import type { BenchContext } from './benchmark.js';
import { redisPid } from './process-usage.js';
import { type NetworkProfile, type SimulatorProcess, startSimulatorProcess } from './simulator-process.js';

/** A whole gateway as in production, beside a network in a process of its own. */
export interface Stage {
  space: RedisSpace;
  simulator: SimulatorProcess;
  gateway: Gateway;
}

export interface StageOptions {
  /** Share of the phones that really decrypt what they get, 0 to 1: said aloud when it is not all of them. */
  decryptSample?: number;
  senders?: number;
  /** All roles in one process. Default: a process for each, as the images have it. */
  inOneProcess?: boolean;
  /** Default 2026. */
  profile?: NetworkProfile;
  /** Settings of every service. */
  env?: Record<string, string>;
  /** Default: the Redis of this run. */
  redisUrl?: string;
}

/** All services of a stage and its Redis; the simulator is none of them. */
export async function gatewayPids(stage: Stage): Promise<number[]> {
  return Object.values(await gatewayProcesses(stage)).flat();
}

/** The same by what they do. */
export async function gatewayProcesses({ gateway, space }: Stage): Promise<Record<string, number[]>> {
  const pids = (services: readonly { pid: number }[]) => services.map(({ pid }) => pid);
  const { api, connections, senders, events } = gateway;
  const services = { api: pids([api]), connection: pids(connections), sender: pids(senders), events: pids(events) };
  return { ...services, redis: [await redisPid(space.url)] };
}

/** Some start beside hundreds of logins, or other work of the machine. */
const READY_MS = 60_000;

export async function openStage(context: BenchContext, options: StageOptions = {}): Promise<Stage> {
  const { lifecycle, say } = context;
  const { decryptSample = 1, senders = 1, inOneProcess = false, profile = '2026', env = {}, redisUrl } = options;
  if (decryptSample < 1) say(`${decryptSample * 100} % of the simulated phones decrypt what they receive`);
  const space = await openRedisSpace(redisUrl === undefined ? {} : { url: redisUrl });
  lifecycle.add('redis space', () => space.close());
  const simulator = await startSimulatorProcess(lifecycle, { decryptSample, profile });
  const gateway = await Gateway.start({
    space,
    simulator,
    senders,
    inOneProcess,
    readyMs: READY_MS,
    env: { LOG_LEVEL: 'info', ...profileSettings(), ...env },
  });
  lifecycle.add('gateway', () => gateway.close());
  return { space, simulator, gateway };
}
