import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { createStore } from '@gateway/store/core/store';
import { createApiToken, revokeApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { readKeyRings } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const WITHIN = { everyMs: 100, timeoutMs: 60_000 };
/** A token may ask only so often. */
const CALMLY = { ...WITHIN, everyMs: 500 };
/** How long a revoked token may go on working; and so long the last of its requests may have been under way. */
const KNOWN_FOR_MS = 1_000;
const ANSWER_MS = 1_500;

describe('an API whose master is cut off, where replicas are waited for', () => {
  const { sentinels, space, gateway } = useGateway({
    ...{ ownSentinels: true, readyMs: 90_000 },
    env: { REDIS_WAIT_REPLICAS: '1' },
  });
  let master: RedisProcess;
  let revoked: Awaited<ReturnType<typeof createApiToken>>;
  beforeEach(async () => {
    master = await eventually(async () => {
      const found = await sentinels.findMaster();
      return (await sentinels.agreeOn(found)) && found;
    }, WITHIN);
    revoked = await eventually(() => createApiToken(space.store, 'main', { name: 'to be revoked' }), WITHIN);
    await eventually(async () => (await ask()).status === 200, WITHIN);
  });

  const ask = (value = revoked.value) =>
    fetch(`${gateway.baseUrl}/devices`, { headers: { authorization: `Bearer ${value}` } });
  async function readiness(): Promise<{ ready: boolean; checks: Record<string, string> }> {
    const { opsPort } = await gateway.api.waitForLog(({ message }) => message === 'api listens');
    return (await (await fetch(`http://127.0.0.1:${opsPort}/readyz`)).json()) as ReturnType<typeof readiness>;
  }

  it('answers nothing by what only the old one says of a token, and is ready again when it reaches the others', async () => {
    const heal = sentinels.cutOffWithClients(master);
    try {
      await eventually(async () => (await sentinels.findMaster()) !== master, WITHIN);
      const next = await sentinels.findMaster();
      await revokeAt(next, revoked.token.keyId);
      const untilMs = performance.now() + KNOWN_FOR_MS + ANSWER_MS;
      const answers = new Set<number>();
      await eventually(async () => {
        const beganMs = performance.now();
        const { status, headers } = await ask();
        if (beganMs >= untilMs) answers.add(status);
        if (status === 503) expect(Number(headers.get('retry-after'))).to.be.above(0);
        return performance.now() > untilMs + 3_000;
      }, CALMLY);
      expect([...answers]).to.deep.equal([503]);
      const { ready, checks } = await readiness();
      expect([ready, checks.master], JSON.stringify(checks)).to.deep.equal([
        false,
        'the master of Redis may have been replaced',
      ]);
    } finally {
      heal();
    }
    await eventually(async () => (await readiness()).ready, WITHIN);
    expect((await ask()).status).to.equal(401);
    const other = await eventually(() => createApiToken(space.store, 'main', { name: 'of the next master' }), WITHIN);
    await eventually(async () => (await ask(other.value)).status === 200, WITHIN);
  });

  it('answers all the time while only its replicas are away', async () => {
    const replicas = sentinels.servers.filter((server) => server !== master);
    for (const replica of replicas) await replica.kill();
    try {
      const fromMs = performance.now();
      await eventually(async () => {
        expect((await ask()).status).to.equal(200);
        return performance.now() - fromMs > 8_000;
      }, CALMLY);
      expect((await readiness()).checks.master).to.equal('ok');
    } finally {
      for (const replica of replicas) replica.restart();
    }
  });

  async function revokeAt(server: RedisProcess, keyId: string): Promise<void> {
    const clients = createRedisClients({ url: server.ownUrl, logger: silentLogger, purposes: ['commands'] });
    await clients.waitForReady();
    try {
      const { store, keySettings } = space;
      const there = createStore({ redis: clients.commands, space: store.space, keyRings: readKeyRings(keySettings) });
      await revokeApiToken(there, 'main', keyId);
    } finally {
      await clients.close();
    }
  }
});
