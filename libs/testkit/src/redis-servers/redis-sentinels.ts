import { eventually } from '../eventually.js';
import { askServer } from './ask-server.js';
import { CuttableNetwork, LOCALHOST } from './cuttable-network.js';
import { PASSWORD, RedisProcess, type RedisProcessOptions } from './redis-process.js';

/** A real master with replicas, and Sentinels that put one of them in its place. */
export interface RedisSentinels {
  url: string;
  /** The first is the master at the beginning. */
  servers: RedisProcess[];
  sentinels: RedisProcess[];
  /** The server that the Sentinels take for the master now. */
  findMaster(): Promise<RedisProcess>;
  /** All Sentinels know that this one is the master, and that it is well. */
  agreeOn(master: RedisProcess): Promise<boolean>;
  /** `SENTINEL FAILOVER`. The old master takes writes for some seconds more, and forgets them. */
  failOver(): Promise<void>;
  /** Other servers and Sentinels reach this one, and those that go along, no more; clients reach all. Returns what heals it. */
  cutOff(server: RedisProcess, ...along: RedisProcess[]): () => void;
  /** The same, and clients go along: they reach these alone. */
  cutOffWithClients(server: RedisProcess, ...along: RedisProcess[]): () => void;
  /** Connections of clients to the Sentinels stay, and nothing passes any more; new ones are as before. */
  silenceSentinels(): void;
  /** One more Sentinel, on the machine of this server: cut off with it, it goes on naming it. Resolves with a URL that names it first. */
  addBeside(server: RedisProcess): Promise<string>;
  stop(): Promise<void>;
}

const MASTER = 'gateway';
const DOWN_AFTER_MS = 1_500;
const FAILOVER_TIMEOUT_MS = 5_000;

/** Linux only: see `CuttableNetwork`. @param options.settings of the master and its replicas. */
export async function startRedisSentinels({
  replicas = 2,
  sentinels: sentinelCount = 3,
  logFolder,
  settings = [],
}: { replicas?: number; sentinels?: number } & RedisProcessOptions = {}): Promise<RedisSentinels> {
  const logs = logFolder ? { logFolder } : {};
  const network = new CuttableNetwork();
  const common = { ...logs, password: PASSWORD, network };
  const own = [
    ...['--repl-diskless-sync-delay', '0', '--repl-timeout', '10', '--repl-ping-replica-period', '2'],
    ...settings,
  ];
  const master = await RedisProcess.start({ ...common, settings: own });
  const followers = await Promise.all(
    Array.from({ length: replicas }, () => RedisProcess.start({ ...common, settings: own, replicaOf: master.port })),
  );
  const startSentinel = (masterPort: number) => {
    const sentinel = sentinelSettings(masterPort, Math.floor(sentinelCount / 2) + 1);
    return RedisProcess.start({ ...logs, network, sentinel });
  };
  const sentinels = await Promise.all(Array.from({ length: sentinelCount }, () => startSentinel(master.port)));
  const url = `redis+sentinel://:${PASSWORD}@${sentinels.map(({ port }) => `${LOCALHOST}:${port}`).join(',')}/${MASTER}`;
  const servers = [master, ...followers];
  /** On whose machine each is. */
  const besides = new Map<RedisProcess, RedisProcess>();
  await eventually(
    async () => {
      const known = await Promise.all(sentinels.map((sentinel) => askSentinel(sentinel, 'MASTER')));
      return known.every(
        (fields) =>
          fields['num-slaves'] === String(replicas) && fields['num-other-sentinels'] === String(sentinelCount - 1),
      );
    },
    { everyMs: 100, what: 'the Sentinels know each other and the replicas' },
  );
  /** With what is on the same machines. */
  const addressesOf = (all: readonly RedisProcess[]) => {
    const there = [...besides].filter(([, server]) => all.includes(server)).map(([neighbour]) => neighbour);
    return [...all, ...there].map(({ address }) => address);
  };
  const findMaster = async () => {
    for (const sentinel of sentinels) {
      const fields = await askSentinel(sentinel, 'MASTER').catch(() => undefined);
      const found = servers.find((server) => String(server.port) === fields?.port);
      if (found) return found;
    }
    throw new Error('no Sentinel answers');
  };
  return {
    ...{ url, servers, sentinels, findMaster },
    agreeOn: async (master) => {
      const known = await Promise.all(sentinels.map((sentinel) => askSentinel(sentinel, 'MASTER')));
      return known.every(({ port, flags }) => port === String(master.port) && flags === 'master');
    },
    failOver: async () => {
      const order = () => askServer(sentinels[0]!.url, 'SENTINEL', 'FAILOVER', MASTER);
      await eventually(order, { everyMs: 200 });
    },
    cutOff: (...servers) => network.cutOff(addressesOf(servers)),
    cutOffWithClients: (...servers) => network.cutOff([LOCALHOST, ...addressesOf(servers)]),
    silenceSentinels: () => network.silence([...sentinels, ...besides.keys()].map(({ address }) => address)),
    addBeside: async (server) => {
      const neighbour = await startSentinel(server.port);
      besides.set(neighbour, server);
      await eventually(
        async () => (await askSentinel(neighbour, 'MASTER'))['num-other-sentinels'] === String(sentinelCount),
        { everyMs: 100, what: 'the Sentinel beside the server knows the others' },
      );
      return url.replace('@', `@${LOCALHOST}:${neighbour.port},`);
    },
    stop: async () => {
      await Promise.all([...besides.keys(), ...sentinels, ...servers].map((server) => server.stop()));
      network.close();
    },
  };
}

function sentinelSettings(masterPort: number, quorum: number): string {
  return [
    `sentinel monitor ${MASTER} ${LOCALHOST} ${masterPort} ${quorum}`,
    `sentinel auth-pass ${MASTER} ${PASSWORD}`,
    `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER} ${FAILOVER_TIMEOUT_MS}`,
    // Where the others find it, and not what it calls from.
    `sentinel announce-ip ${LOCALHOST}`,
    '',
  ].join('\n');
}

/** What a Sentinel answers to a question about the master. */
async function askSentinel({ ownUrl }: RedisProcess, question: string): Promise<Record<string, string>> {
  const fields = (await askServer(ownUrl, 'SENTINEL', question, MASTER)) as string[];
  return Object.fromEntries(fields.flatMap((field, i) => (i % 2 === 0 ? [[field, fields[i + 1]!]] : [])));
}
