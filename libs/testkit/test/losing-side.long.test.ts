import { joinFleet } from '@gateway/fleet/join-fleet';
import { type HeldDevice, SessionKeeper } from '@gateway/fleet/session-keeper';
import { systemClock } from '@gateway/runtime/clock';
import { FencedError, type GatewayError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { type ProcessHost, startProcessHost } from '@gateway/runtime/process/process-host';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { createStore, type Store } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import { eventually } from '@gateway/testkit/eventually';
import { sessionKeyOf } from '@gateway/testkit/ownership';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { type RedisSentinels, startRedisSentinels } from '@gateway/testkit/redis-servers/redis-sentinels';
import { readKeyRings } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const WITHIN = { everyMs: 50 };
const ADDRESS = { workspace: 'main', device: 'phone' };
const TTL_MS = 4_000;
const KEY = `test:${'07'.repeat(32)}`;
const KEYS = { space: { prefix: 'gw' }, keyRings: readKeyRings({ CREDENTIAL_KEYS: KEY, CONTENT_KEYS: KEY }) };
const PURPOSES = ['commands', 'failFast', 'sessions', 'subscriber'] as const;

describe('a process that owns a device and waits for replicas, with Sentinels', () => {
  const lifecycle = new Lifecycle({ logger: createLogger({ service: 'test', level: 'error' }) });
  let servers: RedisSentinels;
  /** Of the Sentinel on the machine of the first server. */
  let besideUrl: string;
  let host: ProcessHost<Exclude<(typeof PURPOSES)[number], 'failFast'>>;
  let store: Store;
  let keeper: SessionKeeper;
  let held: HeldDevice;
  let master: RedisProcess;

  before(async () => {
    servers = await startRedisSentinels();
    const url = await servers.addBeside(servers.servers[0]!);
    besideUrl = `redis://${/@([^,]+),/.exec(url)![1]}`;
    const config = {
      ...{ REDIS_URL: url, REDIS_WAIT_REPLICAS: 1, REDIS_WITHOUT_AOF: false },
      ...{ KEY_PREFIX: 'gw', CONTENT_KEYS: [], LOG_LEVEL: 'error' as const, OPS_HOST: '127.0.0.1', OPS_PORT: 0 },
    };
    host = await startProcessHost(lifecycle, { name: 'test', config, purposes: PURPOSES });
    host.started();
    store = createStore({ ...KEYS, redis: host.clients.commands, confirmWrites: host.confirmWrites });
    ({ keeper } = await joinFleet(host, store, { SESSION_TTL_MS: TTL_MS }));
    await eventually(() => ensureDevice(store, ADDRESS).then(() => true), WITHIN);
    held = await eventually(() => keeper.acquire(ADDRESS), WITHIN);
  });
  beforeEach(async () => {
    master = await isWell();
    await eventually(async () => {
      if (isLost(held)) held = (await keeper.acquire(ADDRESS)) ?? held;
      // Whoever was led to another master until now finds it gone with its next renewal.
      return (await askServer(master.ownUrl, 'EXISTS', sessionKeyOf(store, held))) === 1 && !isLost(held);
    }, WITHIN);
  });
  after(async () => {
    await lifecycle.stop();
    await servers.stop();
  });

  const readiness = async () =>
    (await (await fetch(`http://127.0.0.1:${host.opsPort}/readyz`)).json()) as {
      ready: boolean;
      checks: Record<string, string>;
    };
  const triesToAcquire = () => keeper.acquire(ADDRESS).catch((thrown) => (thrown as GatewayError).code);

  /**
   * All servers are there, and all Sentinels know it. A master that was cut off goes on as one for some seconds after that, and would
   * be made the next one for all that it alone has written.
   */
  async function isWell(): Promise<RedisProcess> {
    await eventually(() => host.confirmWrites(host.clients.commands, 'gw:{#0}:key').then(() => true), WITHIN);
    const found = await servers.findMaster();
    await eventually(() => servers.agreeOn(found), WITHIN);
    const others = servers.servers.filter((server) => server !== found);
    await eventually(async () => {
      const told = await Promise.all(others.map(({ ownUrl }) => askServer(ownUrl, 'INFO', 'replication')));
      return told.every((text) => ['role:slave', 'master_link_status:up'].every((is) => String(text).includes(is)));
    }, WITHIN);
    return found;
  }

  const findNext = (old: RedisProcess) =>
    eventually(async () => {
      const found = await servers.findMaster();
      return found !== old && found;
    }, WITHIN);

  it('keeps it while no replica is there, and the Sentinels are', async () => {
    await eventually(async () => (await readiness()).ready, WITHIN);
    const replicas = servers.servers.slice(1);
    for (const replica of replicas) await replica.kill();
    try {
      const untilMs = performance.now() + 3 * TTL_MS;
      await eventually(() => {
        held.assertHeld();
        return performance.now() > untilMs;
      }, WITHIN);
      expect((await readiness()).ready).to.equal(true);
    } finally {
      for (const replica of replicas) replica.restart();
    }
    await isWell();
    held.assertHeld();
  });

  it('loses it when it is cut off with its master, and takes none there; it goes on after that', async () => {
    const old = master;
    const cutAtMs = performance.now();
    const heal = servers.cutOffWithClients(old);
    let other: Awaited<ReturnType<typeof startOther>> | undefined;
    try {
      let heldAtMs = cutAtMs;
      await eventually(
        () => {
          const nowMs = performance.now();
          if (isLost(held)) return true;
          heldAtMs = nowMs;
          return false;
        },
        { ...WITHIN, timeoutMs: 10 * TTL_MS, what: 'the end of the device' },
      );
      expect(heldAtMs - cutAtMs).to.be.below(TTL_MS);
      expect(await triesToAcquire()).to.equal('master_in_doubt');
      await eventually(async () => 'master' in (await readiness()).checks && !(await readiness()).ready, WITHIN);
      other = await startOther(await findNext(old));
      const theirs = await eventually(() => other!.keeper.acquire(ADDRESS), WITHIN);
      // Also when their master would let it.
      const session = sessionKeyOf(store, held);
      await eventually(async () => (await askServer(old.ownUrl, 'EXISTS', session)) === 0, WITHIN);
      expect(await triesToAcquire()).to.equal('master_in_doubt');
      theirs.assertHeld();
    } finally {
      heal();
    }
    await eventually(async () => (await readiness()).ready, WITHIN);
    await eventually(async () => (await triesToAcquire()) === undefined, {
      ...WITHIN,
      what: 'an answer that it is taken',
    });
    await other.stop();
    held = await eventually(() => keeper.acquire(ADDRESS), WITHIN);
    const untilMs = performance.now() + 2 * TTL_MS;
    await eventually(() => {
      held.assertHeld();
      return performance.now() > untilMs;
    }, WITHIN);
  });

  it('loses it also when the Sentinels on its side are reset, and know of no others any more', async () => {
    const [sentinel] = servers.sentinels as [RedisProcess];
    const heal = servers.cutOffWithClients(master, sentinel);
    try {
      const there = [sentinel.ownUrl, ...(master === servers.servers[0] ? [besideUrl] : [])];
      for (const url of there) await askServer(url, 'SENTINEL', 'RESET', '*');
      await eventually(() => isLost(held), { ...WITHIN, timeoutMs: 10 * TTL_MS, what: 'the end of the device' });
      expect(await triesToAcquire()).to.equal('master_in_doubt');
    } finally {
      heal();
    }
  });

  it('has lost it before another one takes it by the next master', async () => {
    const old = master;
    const heal = servers.cutOffWithClients(old);
    let other: Awaited<ReturnType<typeof startOther>> | undefined;
    try {
      other = await startOther(await findNext(old));
      await eventually(() => other!.keeper.acquire(ADDRESS), { everyMs: 5 });
      expect(isLost(held)).to.equal(true);
    } finally {
      heal();
      await other?.stop();
    }
  });
});

function isLost(held: HeldDevice): boolean {
  try {
    held.assertHeld();
    return false;
  } catch (thrown) {
    if (thrown instanceof FencedError) return true;
    throw thrown;
  }
}

/** A process that was not cut off from this server. */
async function startOther(server: RedisProcess) {
  const clients = createRedisClients({ url: server.ownUrl, logger: silentLogger, purposes: ['commands'] });
  await clients.waitForReady();
  const store = createStore({ ...KEYS, redis: clients.commands });
  const keeper = new SessionKeeper({
    ...{ store, clock: systemClock, logger: silentLogger, owner: 'other', ttlMs: TTL_MS },
  });
  keeper.start();
  const stop = async () => {
    await keeper.stop();
    await clients.close();
  };
  return { keeper, stop };
}
