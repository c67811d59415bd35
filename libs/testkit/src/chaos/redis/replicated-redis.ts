import { crc32 } from 'node:zlib';
import { sleep } from '@gateway/runtime/clock';
import { askServer } from '../../redis-servers/ask-server.js';
import { beginMove } from '../../redis-servers/move-slot.js';
import { type RedisCluster, startRedisCluster } from '../../redis-servers/redis-cluster.js';
import type { RedisProcess } from '../../redis-servers/redis-process.js';
import { startRedisSentinels } from '../../redis-servers/redis-sentinels.js';
import { PATIENCE } from '../patience.js';
import { type Group, hang, hurtable, surely } from './hurtable-redis.js';
import type { RedisOfRun } from './redis-of-run.js';

type Options = { logFolder: string; replicas: number; waitReplicas: number; say(line: string): void };

/** Some are long enough for an election, and some too short for one, which is where servers disagree. */
const LONGEST_MS = 9_000;
const NODE_TIMEOUT_MS = 1_500;
/** A master that is back before a replica has taken over brings its file along, and what its disk was too busy for is lost: see docs/durability.md. */
const DURABLE = ['--appendfsync', 'always'];

export async function startSentinelRedis(options: Options): Promise<RedisOfRun> {
  const { servers, url, agreeOn, failOver, cutOff, cutOffWithClients, sentinels, stop } = await startRedisSentinels({
    ...options,
    settings: DURABLE,
  });
  const [neighbour] = sentinels as [RedisProcess];
  // With two confirmations, also a replica that confirms may be on the side that loses: see docs/durability.md.
  const along = options.waitReplicas > 1 ? 1 : 0;
  const blows = {
    failover: () => surely(failOver),
    partition: partition(({ master, replicas }) => cutOff(master, ...replicas.slice(0, along))),
    // The gateway with it: no one tells it that it is on the side that loses.
    island: partition(({ master, replicas }) => cutOffWithClients(master, ...replicas.slice(0, along))),
    // A Sentinel on the same machine hangs as well.
    machine: ({ master }: Group, ms: number) => hang([neighbour, master], ms),
  };
  const agree = ([group]: readonly Group[]) => agreeOn(group!.master);
  return hurtable({ url, all: servers, masters: 1, agree, blows, ...shared(options), stop }, options);
}

export async function startClusterRedis(options: Options): Promise<RedisOfRun> {
  const nodeTimeoutMs = Math.round(NODE_TIMEOUT_MS * PATIENCE);
  const cluster = await startRedisCluster({ ...options, settings: DURABLE, canBeCut: true, nodeTimeoutMs });
  const all = cluster.shards.flatMap(({ master, replicas }) => [master, ...replicas]);
  const blows = {
    failover: failOverInTurn(),
    partition: partition(({ master }) => cluster.cutOff(master)),
    move: ({ master }: Group, ms: number, [other]: readonly Group[]) => moveSlot(cluster, master, other!.master, ms),
  };
  return hurtable({ ...cluster, all, masters: cluster.shards.length, blows, ...shared(options) }, options);
}

/** With the master's consent, with that of the other masters, or with that of none. */
const WAYS = [[], ['FORCE'], ['TAKEOVER']];

function failOverInTurn() {
  let turn = 0;
  return async ({ replicas }: Group) => {
    const way = WAYS[turn++ % WAYS.length]!;
    await surely(() => askServer(replicas[0]!.url, 'CLUSTER', 'FAILOVER', ...way));
  };
}

/** That of any key, half of whose keys are at the next master for a while. */
async function moveSlot(cluster: RedisCluster, from: RedisProcess, to: RedisProcess, ms: number): Promise<void> {
  const key = String(await surely(() => askServer(from.url, 'RANDOMKEY')));
  const goes = (each: string) => crc32(each) % 2 === 0;
  const endMove = await surely(() => beginMove(cluster, key, { from, to, goes }));
  await sleep(ms);
  await surely(endMove);
}

/** Without a replica that confirms, a failover may break a promise. */
const shared = ({ waitReplicas }: Options) => ({ longestMs: LONGEST_MS, keepsPromises: waitReplicas > 0 });

/** @param cutOff returns what heals it. */
function partition(cutOff: (group: Group) => () => void) {
  return async (group: Group, ms: number) => {
    const heal = cutOff(group);
    await sleep(ms);
    heal();
  };
}
