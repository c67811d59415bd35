import { sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import { eventually } from '../../eventually.js';
import { askServer } from '../../redis-servers/ask-server.js';
import { startRedisCluster } from '../../redis-servers/redis-cluster.js';
import type { RedisProcess } from '../../redis-servers/redis-process.js';
import { startRedisSentinels } from '../../redis-servers/redis-sentinels.js';
import { PATIENCE } from '../patience.js';
import type { Random } from '../random.js';
import type { RedisBlow, RedisOfRun } from './redis-of-run.js';

/** A master as of now, with the replicas that follow it. */
interface Group {
  master: RedisProcess;
  replicas: RedisProcess[];
}

interface Servers {
  url: string;
  /** Those with data. */
  all: RedisProcess[];
  masters: number;
  /** Who decides on failovers sees the same. */
  agree(groups: readonly Group[]): Promise<boolean>;
  failOver(group: Group): Promise<void>;
  cutOff(group: Group): Promise<() => Promise<void>>;
  /** On the machine of a master, beside it. */
  neighbour?: RedisProcess;
  stop(): Promise<void>;
}

type Options = { logFolder: string; waitReplicas: number; say(line: string): void };

const BLOWS = ['kill', 'freeze', 'failover', 'partition', 'full'] as const;
/** `machine`: a Sentinel hangs as well. */
const SENTINEL_BLOWS = [...BLOWS, 'machine'] as const;
type Kind = (typeof SENTINEL_BLOWS)[number];
/** Long enough for an election, and too short for one, which is where servers disagree. */
const [SHORTEST_MS, LONGEST_MS] = [1_000, 9_000];
const NODE_TIMEOUT_MS = 1_500;
const BALLAST_BYTES = 32 * 1024 * 1024;
const WHOLE = { timeoutMs: 90_000 * PATIENCE, everyMs: 200, what: 'that all servers of Redis are up and agree' };
/** First until each kind of blow has come once. */
const [FIRST_WEIGHT, WEIGHT] = [9, 5];

export async function startSentinelRedis(options: Options): Promise<RedisOfRun> {
  const { servers, url, agreeOn, failOver, stop, ...sentinels } = await startRedisSentinels(options);
  const agree = ([group]: readonly Group[]) => agreeOn(group!.master);
  // With two confirmations, also a replica that confirms may be on the side that loses: see docs/durability.md.
  const cutOff = ({ master, replicas }: Group) =>
    sentinels.cutOff(master, options.waitReplicas > 1 ? replicas[0] : undefined);
  const [neighbour] = sentinels.sentinels as [RedisProcess];
  return hurtable({ url, all: servers, masters: 1, agree, failOver, cutOff, neighbour, stop }, options);
}

export async function startClusterRedis(options: Options): Promise<RedisOfRun> {
  const nodeTimeoutMs = Math.round(NODE_TIMEOUT_MS * PATIENCE);
  const cluster = await startRedisCluster({ ...options, replicas: 1, canBeCut: true, nodeTimeoutMs });
  const all = cluster.shards.flatMap(({ master, replicas }) => [master, ...replicas]);
  const failOver = async ({ replicas }: Group) => void (await askServer(replicas[0]!.url, 'CLUSTER', 'FAILOVER'));
  const cutOff = ({ master }: Group) => cluster.cutOff(master);
  return hurtable({ ...cluster, all, masters: cluster.shards.length, failOver, cutOff }, options);
}

function hurtable(servers: Servers, { waitReplicas, say }: Options): RedisOfRun {
  const kinds: readonly Kind[] = servers.neighbour ? SENTINEL_BLOWS : BLOWS;
  const blows: RedisBlow[] = [];
  const had = new Set<Kind>();
  let left: Kind[] = [];
  let isBusy = false;

  /** Each kind comes before any comes again. */
  function draw(random: Random): Kind {
    if (left.length === 0) left = [...kinds];
    return left.splice(Math.floor(random.next() * left.length), 1)[0]!;
  }

  return {
    ...{ url: servers.url, keepsPromises: waitReplicas > 0, blows },
    get spared() {
      return kinds.filter((kind) => !had.has(kind));
    },
    get weight() {
      if (isBusy) return 0;
      return had.size < kinds.length ? FIRST_WEIGHT : WEIGHT;
    },
    hurt: async (random) => {
      if (isBusy) return false;
      isBusy = true;
      const kind = draw(random);
      const [at, ms] = [random.next(), random.between(SHORTEST_MS, LONGEST_MS * Math.max(1, PATIENCE / 2))];
      try {
        // Only one at a time: a promise holds as long as a server that has it becomes the master.
        const groups = await eventually(() => findGroups(servers), WHOLE);
        const group = groups[Math.floor(at * groups.length)]!;
        const blow = { what: `${kind} ${group.master.port} ${ms} ms`, fromMs: Date.now(), untilMs: 0 };
        blows.push(blow);
        say(`Redis: ${blow.what}`);
        await strike(servers, kind, { group, ms });
        blow.untilMs = Date.now();
        say(`Redis: ${blow.what}, is over`);
        had.add(kind);
        return { isKill: kind === 'kill' };
      } finally {
        isBusy = false;
      }
    },
    settle: async () => void (await eventually(() => findGroups(servers), WHOLE)),
    stop: () => servers.stop(),
  };
}

async function strike(servers: Servers, kind: Kind, { group, ms }: { group: Group; ms: number }): Promise<void> {
  const { master } = group;
  switch (kind) {
    case 'kill':
      await master.kill();
      await sleep(ms);
      return master.restart();
    case 'freeze':
      return hang([master], ms);
    case 'machine':
      return hang([servers.neighbour!, master], ms);
    case 'failover':
      return surely(() => servers.failOver(group));
    case 'partition': {
      const heal = await surely(() => servers.cutOff(group));
      await sleep(ms);
      return surely(heal);
    }
    case 'full':
      await surely(async () => askServer(master.url, 'CONFIG', 'SET', 'maxmemory', await memoryThatIsFull(master)));
      await sleep(ms);
      await surely(() => askServer(master.url, 'CONFIG', 'SET', 'maxmemory', 0));
  }
}

async function hang(processes: readonly RedisProcess[], ms: number): Promise<void> {
  for (const each of processes) each.freeze();
  await sleep(ms);
  for (const each of processes) each.thaw();
}

/** Less than it uses, so that it is full at once; and not so little that shares of it are full as well, as that of what people write. */
async function memoryThatIsFull({ url }: RedisProcess): Promise<number> {
  await addBallast(url);
  const [, used] = /^used_memory:(\d+)/m.exec(String(await askServer(url, 'INFO', 'memory')))!;
  return Math.floor(Number(used) * 0.8);
}

/** Zeros under a name that this master serves. */
async function addBallast(url: string): Promise<void> {
  for (let i = 0; ; i++) {
    const answer = await askServer(url, 'SETRANGE', `ballast-${i}`, BALLAST_BYTES - 1, 'x').catch(toError);
    if (!(answer instanceof Error)) return;
    if (!answer.message.startsWith('MOVED')) throw answer;
  }
}

/** A busy machine may be too late with an answer. */
async function surely<Result>(work: () => Promise<Result>): Promise<Result> {
  const { result } = await eventually(async () => ({ result: await work() }), WHOLE);
  return result;
}

/** `undefined`: not all servers are where they belong. */
async function findGroups(servers: Servers): Promise<Group[] | undefined> {
  const roles = await Promise.all(
    servers.all.map(async (server) => ({ server, role: (await askServer(server.url, 'ROLE')) as unknown[] })),
  );
  const groups = roles
    .filter(({ role }) => role[0] === 'master')
    .map(({ server: master }) => ({
      master,
      replicas: roles
        .filter(({ role }) => role[0] === 'slave' && role[2] === master.port && role[3] === 'connected')
        .map(({ server }) => server),
    }));
  const size = servers.all.length / servers.masters;
  const isWhole = groups.length === servers.masters && groups.every(({ replicas }) => replicas.length === size - 1);
  return isWhole && (await servers.agree(groups)) ? groups : undefined;
}
