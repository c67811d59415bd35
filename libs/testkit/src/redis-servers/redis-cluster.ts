import { SLOTS } from '@gateway/runtime/redis/redis-nodes';
import { Redis } from 'ioredis';
import { eventually } from '../eventually.js';
import { askServer } from './ask-server.js';
import { CuttableNetwork, LOCALHOST } from './cuttable-network.js';
import { PASSWORD, RedisProcess, type RedisProcessOptions } from './redis-process.js';
import { findSteadyPort } from './steady-port.js';

/** A real Redis Cluster on this machine: masters with the slots shared out evenly, each with its replicas. */
export interface RedisCluster {
  url: string;
  /** Each master, as it began, and its replicas. */
  shards: { master: RedisProcess; replicas: RedisProcess[] }[];
  /** All nodes know that all slots are served, and take each other for alive. */
  agree(): Promise<boolean>;
  /** The other nodes reach this one no more, and clients do. Returns what heals it. Only of one that `canBeCut`. */
  cutOff(server: RedisProcess): () => void;
  /** One more in `shards`, which has no slot yet, and which all of the others know. */
  addMaster(): Promise<RedisProcess>;
  stop(): Promise<void>;
}

/**
 * @param options.replicas of each master.
 * @param options.canBeCut puts proxies between the nodes.
 * @param options.nodeTimeoutMs after which a silent node is taken for dead.
 */
export async function startRedisCluster({
  masters = 3,
  replicas = 0,
  canBeCut = false,
  nodeTimeoutMs = 1_500,
  logFolder,
  settings = [],
}: Partial<Record<'masters' | 'replicas' | 'nodeTimeoutMs', number>> & {
  canBeCut?: boolean;
} & RedisProcessOptions = {}): Promise<RedisCluster> {
  const network = new CuttableNetwork();
  const busPorts = new Map<RedisProcess, number>();
  const start = async () => {
    const busPort = await findSteadyPort();
    const node = await RedisProcess.start({
      ...(logFolder && { logFolder }),
      ...(canBeCut && { network }),
      password: PASSWORD,
      settings: [
        ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-announce-ip', LOCALHOST],
        ...['--cluster-node-timeout', String(nodeTimeoutMs), '--cluster-require-full-coverage', 'no'],
        ...['--repl-diskless-sync-delay', '0', '--repl-timeout', '10', '--repl-ping-replica-period', '2'],
        ...settings,
      ],
    });
    if (canBeCut) await network.open(node.address, busPort);
    busPorts.set(node, busPort);
    return node;
  };
  const shards = await Promise.all(
    Array.from({ length: masters }, async () => ({
      master: await start(),
      replicas: await Promise.all(Array.from({ length: replicas }, start)),
    })),
  );
  const nodes = shards.flatMap(({ master, replicas }) => [master, ...replicas]);
  const clients = new Map(nodes.map((node) => [node, new Redis(node.url, { maxRetriesPerRequest: null })]));
  // A node that is not up yet: it tries again.
  for (const client of clients.values()) client.on('error', () => {});
  const clientOf = (node: RedisProcess) => clients.get(node)!;
  try {
    await Promise.all(
      shards.map(async ({ master }, i) => {
        const [first, next] = [i, i + 1].map((at) => Math.floor((SLOTS * at) / masters));
        await clientOf(master).cluster('ADDSLOTSRANGE', first!, next! - 1);
        // As `redis-cli --cluster create` does: those that begin with the same one change it some time later.
        await clientOf(master).call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      }),
    );
    const [first, ...others] = nodes;
    const knows = async (node: RedisProcess, wanted: RedisProcess[]) => {
      const lines = String(await clientOf(node).cluster('NODES')).split('\n');
      const met = lines.filter((line) => !line.includes('handshake'));
      return wanted.every(({ port }) => met.some((line) => line.includes(`:${port}@`)));
    };
    const haveMet = async () => {
      let areAll = true;
      for (const node of others) {
        if ((await knows(first!, [node])) && (await knows(node, nodes))) continue;
        areAll = false;
        await clientOf(first!).call('CLUSTER', 'MEET', LOCALHOST, node.port, busPorts.get(node)!);
      }
      return areAll;
    };
    // On a busy machine a meeting may come to an end for one of the two alone: only another one tells the other.
    await eventually(haveMet, { what: 'the nodes have met', everyMs: 100 });
    for (const { master, replicas } of shards) {
      const id = (await clientOf(master).cluster('MYID')) as string;
      for (const replica of replicas) await eventually(() => clientOf(replica).cluster('REPLICATE', id));
    }
    await agree(nodes.map(clientOf), (info) => info.cluster_state === 'ok' && info.cluster_slots_ok === String(SLOTS));
    await Promise.all(shards.flatMap(({ replicas }) => replicas.map((replica) => waitForLink(clientOf(replica)))));
  } finally {
    for (const client of clients.values()) client.disconnect();
  }
  return {
    url: `redis+cluster://:${PASSWORD}@${shards.map(({ master }) => `${LOCALHOST}:${master.port}`).join(',')}`,
    shards,
    agree: async () => {
      const views = await Promise.all(nodes.map(({ url }) => askServer(url, 'CLUSTER', 'NODES')));
      const states = await Promise.all(nodes.map(({ url }) => askServer(url, 'CLUSTER', 'INFO')));
      const isWell = (view: unknown) => !/\bfail\b|fail\?|handshake|disconnected/.test(String(view));
      return views.every(isWell) && states.every((state) => String(state).includes('cluster_state:ok'));
    },
    cutOff: ({ address }) => network.cutOff([address]),
    addMaster: async () => {
      const [{ master: first }] = shards as [(typeof shards)[0]];
      const node = await start();
      shards.push({ master: node, replicas: [] });
      nodes.push(node);
      await eventually(() => askServer(node.url, 'PING'));
      await askServer(first.url, 'CLUSTER', 'MEET', LOCALHOST, node.port, busPorts.get(node)!);
      await eventually(
        async () => {
          const views = await Promise.all(nodes.map(({ url }) => askServer(url, 'CLUSTER', 'NODES')));
          const haveMet = (view: unknown) =>
            !String(view).includes('handshake') && nodes.every(({ port }) => String(view).includes(`:${port}@`));
          const state = String(await askServer(node.url, 'CLUSTER', 'INFO'));
          return views.every(haveMet) && state.includes('cluster_state:ok');
        },
        { what: 'all know the new node', everyMs: 100 },
      );
      return node;
    },
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
      network.close();
    },
  };
}

async function agree(clients: Redis[], isSo: (info: Record<string, string>) => boolean): Promise<void> {
  await eventually(
    async () => {
      for (const client of clients) {
        const text = (await client.cluster('INFO')) as string;
        if (!isSo(Object.fromEntries(text.split('\r\n').map((line) => line.split(':'))))) return false;
      }
      return true;
    },
    { what: 'the nodes know each other' },
  );
}

async function waitForLink(replica: Redis): Promise<void> {
  await eventually(async () => (await replica.info('replication')).includes('master_link_status:up'), {
    what: "the replica has its master's data",
  });
}
