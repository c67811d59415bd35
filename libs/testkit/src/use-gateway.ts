import { type Simulator, type SimulatorOptions, startSimulator } from '@gateway/simulator/start-simulator';
import { Gateway, type GatewayOptions } from './gateway.js';
import { type RedisCluster, startRedisCluster } from './redis-servers/redis-cluster.js';
import { RedisProcess } from './redis-servers/redis-process.js';
import { type RedisSentinels, startRedisSentinels } from './redis-servers/redis-sentinels.js';
import { openRedisSpace, type RedisSpace } from './redis-space.js';
import { standIn } from './stand-in.js';

export interface GatewayFixture {
  /** With `ownRedis` alone. */
  readonly redis: RedisProcess;
  /** With `ownCluster` alone. */
  readonly cluster: RedisCluster;
  /** With `ownSentinels` alone. */
  readonly sentinels: RedisSentinels;
  readonly space: RedisSpace;
  readonly simulator: Simulator;
  readonly gateway: Gateway;
  /** Calls the control API of the simulator. Throws when it refuses. */
  admin(method: string, path: string, body?: object): Promise<unknown>;
  /** A person (a number, or `lid:<digits>`) writes to an account. */
  write(from: string, to: string, text: string): Promise<void>;
  /** Posts a list, which must be accepted. Resolves with its `messageId`. */
  send(to: readonly string[], text: string, device?: string): Promise<string>;
  /** To whom phones showed a message of an account, of this text if one is given: once for each time. */
  shown(account: string, text?: string): string[];
}

type Options = Omit<GatewayOptions, 'space' | 'simulator'> & {
  simulator?: SimulatorOptions;
  /** A Redis that no other test uses, and that so may be stopped. */
  ownRedis?: boolean;
  /** The same of a Cluster: three masters, each with so many replicas. */
  ownCluster?: { replicas: number };
  /** The same of a master with two replicas and three Sentinels. */
  ownSentinels?: boolean;
};

type Parts = {
  -readonly [Name in 'redis' | 'cluster' | 'sentinels' | 'space' | 'simulator' | 'gateway']: GatewayFixture[Name];
};

/** A whole gateway, its network and its corner of Redis for the tests of one `describe`: started before them, closed after them. */
export function useGateway({
  simulator: network,
  ownRedis,
  ownCluster,
  ownSentinels,
  ...options
}: Options = {}): GatewayFixture {
  const parts = {} as Parts;
  before(async () => {
    if (ownRedis) parts.redis = await RedisProcess.start();
    if (ownCluster) parts.cluster = await startRedisCluster(ownCluster);
    if (ownSentinels) parts.sentinels = await startRedisSentinels();
    const own = parts.redis ?? parts.cluster ?? parts.sentinels;
    const [space, simulator] = await Promise.all([openRedisSpace(own), startSimulator(network)]);
    Object.assign(parts, { space, simulator });
    parts.gateway = await Gateway.start({ ...options, space, simulator });
  });
  after(async () => {
    const { redis, cluster, sentinels, gateway, simulator, space } = parts as Partial<Parts>;
    await gateway?.close();
    await simulator?.close();
    await space?.close();
    await (redis ?? cluster ?? sentinels)?.stop();
  });
  const admin = async (method: string, path: string, body: object = {}): Promise<unknown> => {
    const withBody = method === 'GET' ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${parts.simulator.adminUrl}${path}`, { method, ...withBody });
    const content: unknown = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(content)}`);
    return content;
  };
  return {
    redis: standIn(() => parts.redis),
    cluster: standIn(() => parts.cluster),
    sentinels: standIn(() => parts.sentinels),
    space: standIn(() => parts.space),
    simulator: standIn(() => parts.simulator),
    gateway: standIn(() => parts.gateway),
    admin,
    write: async (from, to, text) => void (await admin('POST', `/admin/phones/${from}/messages`, { to, text })),
    send: async (to, text, device = 'default') => {
      const { status, body } = await parts.gateway.call('POST', '/send', { device, body: { to, text } });
      if (status !== 202) throw new Error(`send: ${status} ${JSON.stringify(body)}`);
      return body.messageId;
    },
    shown: (account, text) => shownBy(parts.simulator, account, text),
  };
}

function shownBy({ network }: Simulator, account: string, text: string | undefined): string[] {
  return [...network.phones.all()].flatMap(({ number, inbox }) =>
    [...inbox.rows()]
      .filter((row) => row.from === account && (text === undefined || row.text === text))
      .flatMap((row) => Array<string>(row.shown).fill(number)),
  );
}
