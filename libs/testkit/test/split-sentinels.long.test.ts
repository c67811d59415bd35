import { createLogger } from '@gateway/runtime/logs/logger';
import { confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisSentinels, startRedisSentinels } from '@gateway/testkit/redis-servers/redis-sentinels';
import { expect } from 'chai';
import type { Redis } from 'ioredis';

const WITHIN = { everyMs: 100 };
const KEY = 'gw:{#0}:key';
const PURPOSES = ['commands', 'failFast', 'subscriber', 'confirms'] as const;
const logger = { ...createLogger({ service: 'test', level: 'error' }), warn: () => {} };

describe('clients of a master that is cut off together with the Sentinel that they ask first', () => {
  let servers: RedisSentinels;
  let url: string;
  const open: { close(): Promise<void> }[] = [];
  before(async () => {
    servers = await startRedisSentinels();
    url = await servers.addBeside(servers.servers[0]!);
  });
  after(async () => {
    for (const clients of open) await clients.close();
    await servers.stop();
  });

  async function start() {
    const clients = createRedisClients({ url, logger, purposes: PURPOSES });
    open.push(clients);
    await clients.waitForReady();
    return clients;
  }

  async function startPromising() {
    const clients = await start();
    const { confirm, stop } = confirmByReplicas(clients.confirms, 1);
    const promise = async (text: string) => {
      await clients.failFast.set(KEY, text);
      await confirm(clients.failFast, KEY);
      return true;
    };
    return { clients, promise, stop };
  }

  const portOf = ({ stream }: Redis) => (stream as { remotePort?: number }).remotePort;

  it('go to the next one and stay there, those of a process that starts, too; their promises hold', async () => {
    const { clients, promise, stop } = await startPromising();
    const [old] = servers.servers;
    await eventually(() => promise('before'), WITHIN);
    const heal = servers.cutOff(old!);
    try {
      await eventually(async () => (await servers.findMaster()) !== old, WITHIN);
      const next = await servers.findMaster();
      const areThere = (ports: (number | undefined)[]) => ports.every((port) => port === next.port);
      await eventually(() => areThere(PURPOSES.map((purpose) => portOf(clients[purpose]))), {
        ...WITHIN,
        timeoutMs: 10_000,
      });
      const late = await start();
      expect(PURPOSES.map((purpose) => portOf(late[purpose]))).to.satisfy(areThere);
      await eventually(() => promise('after'), { ...WITHIN, timeoutMs: 15_000 });
      // Each goes by what the Sentinels say once more.
      for (const purpose of PURPOSES) clients[purpose].disconnect(true);
      await eventually(() => promise('once more'), { ...WITHIN, timeoutMs: 15_000 });
      await eventually(() => areThere(PURPOSES.map((purpose) => portOf(clients[purpose]))), WITHIN);
    } finally {
      stop();
      heal();
    }
    expect(await eventually(() => clients.failFast.get(KEY), WITHIN)).to.equal('once more');
  });

  it('leave it also where their connections to the Sentinels have fallen silent; their promises hold', async () => {
    const { clients, promise, stop } = await startPromising();
    const old = await servers.findMaster();
    await eventually(() => servers.agreeOn(old), WITHIN);
    await eventually(() => promise('before they fell silent'), WITHIN);
    servers.silenceSentinels();
    const heal = servers.cutOff(old);
    try {
      const next = await eventually(async () => {
        const found = await servers.findMaster();
        return found !== old && found;
      }, WITHIN);
      await eventually(() => PURPOSES.every((purpose) => portOf(clients[purpose]) === next.port), {
        ...WITHIN,
        timeoutMs: 10_000,
      });
      await eventually(() => promise('and after'), { ...WITHIN, timeoutMs: 15_000 });
    } finally {
      stop();
      heal();
    }
  });
});
