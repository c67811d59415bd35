import { sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import { eventually } from '../../eventually.js';
import { askServer } from '../../redis-servers/ask-server.js';
import type { RedisProcess } from '../../redis-servers/redis-process.js';
import { PATIENCE } from '../patience.js';
import type { RedisBlow, RedisOfRun } from './redis-of-run.js';

/** A master as of now, with the replicas that follow it. */
export interface Group {
  master: RedisProcess;
  replicas: RedisProcess[];
}

/** Hurts a master for that long, and resolves when it is over. `others`: the rest of a Cluster. */
type Blow = (group: Group, ms: number, others: readonly Group[]) => Promise<void>;

interface Servers {
  /** For the gateway. */
  url: string;
  /** Those with data. */
  all: RedisProcess[];
  masters: number;
  /** Who decides on failovers sees the same. Without replicas there are none. */
  agree?(groups: readonly Group[]): Promise<boolean>;
  /** Beside those that every master can get. */
  blows: Readonly<Record<string, Blow>>;
  /** The longest that a blow lasts on a machine that has nothing else to do. */
  longestMs: number;
  /** Whether a loss breaks a promise. */
  keepsPromises: boolean;
  stop(): Promise<void>;
}

/** Of every kind of Redis. */
const BLOWS = {
  kill: async ({ master }, ms) => {
    await master.kill();
    await sleep(ms);
    master.restart();
  },
  freeze: ({ master }, ms) => hang([master], ms),
  full: async ({ master }, ms) => {
    await surely(async () => askServer(master.url, 'CONFIG', 'SET', 'maxmemory', await memoryThatIsFull(master)));
    await sleep(ms);
    await surely(() => askServer(master.url, 'CONFIG', 'SET', 'maxmemory', 0));
  },
} satisfies Record<string, Blow>;
const SHORTEST_MS = 1_000;
const BALLAST_BYTES = 32 * 1024 * 1024;
const WHOLE = { timeoutMs: 90_000 * PATIENCE, everyMs: 200, what: 'that all servers of Redis are up and agree' };
/** First until each kind of blow has come once. */
const [FIRST_WEIGHT, WEIGHT] = [9, 5];

/** A Redis that gets one blow at a time, each kind before any comes again. */
export function hurtable(servers: Servers, { say }: { say(line: string): void }): RedisOfRun {
  const strikes: Readonly<Record<string, Blow>> = { ...BLOWS, ...servers.blows };
  const kinds = Object.keys(strikes);
  const blows: RedisBlow[] = [];
  const had = new Set<string>();
  let left: string[] = [];
  let isBusy = false;
  return {
    ...{ url: servers.url, keepsPromises: servers.keepsPromises, blows },
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
      if (left.length === 0) left = [...kinds];
      const [kind] = left.splice(Math.floor(random.next() * left.length), 1) as [string];
      const [at, ms] = [random.next(), random.between(SHORTEST_MS, servers.longestMs * Math.max(1, PATIENCE / 2))];
      try {
        // Only one at a time: a promise holds as long as a server that has it becomes the master.
        const groups = await eventually(() => findGroups(servers), WHOLE);
        const group = groups[Math.floor(at * groups.length)]!;
        const blow = { what: `${kind} ${group.master.port} ${ms} ms`, fromMs: Date.now(), untilMs: 0 };
        blows.push(blow);
        say(`Redis: ${blow.what}`);
        const others = groups.filter((other) => other !== group);
        await strikes[kind]!(group, ms, others);
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

export async function hang(processes: readonly RedisProcess[], ms: number): Promise<void> {
  for (const each of processes) each.freeze();
  await sleep(ms);
  for (const each of processes) each.thaw();
}

/** A busy machine may be too late with an answer. */
export async function surely<Result>(work: () => Promise<Result>): Promise<Result> {
  const { result } = await eventually(async () => ({ result: await work() }), WHOLE);
  return result;
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
  return isWhole && (await servers.agree?.(groups)) !== false ? groups : undefined;
}
