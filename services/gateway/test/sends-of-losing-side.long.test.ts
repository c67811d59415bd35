import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { createStore } from '@gateway/store/core/store';
import { cancelSend } from '@gateway/store/sends/change-send';
import { readRecipients, readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { readKeyRings } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const WITHIN = { everyMs: 100, timeoutMs: 60_000 };
const CALMLY = { ...WITHIN, everyMs: 1_000 };
const ADDRESS = { workspace: 'main', device: 'default' };
const ACCOUNT = '491600000311';
/** At its pace the owner is not done with it before another master is there. */
const LIST = 400;
const LATE = 20;

describe('a sender whose master is cut off from its replicas, where they are waited for', () => {
  const { sentinels, space, gateway, send, shown } = useGateway({
    ...{ ownSentinels: true, readyMs: 90_000 },
    env: { PACE_PER_MINUTE: '600', REDIS_WAIT_REPLICAS: '1', SESSION_TTL_MS: '8000' },
  });
  before(() => gateway.link(ACCOUNT, 'default'));

  for (const [how, isCutOff, cutOff] of [
    ['and goes along', 0, (master: RedisProcess) => sentinels.cutOffWithClients(master)],
    ['and reaches all others', 1, (master: RedisProcess) => sentinels.cutOff(master)],
  ] as const) {
    it(`shows nothing of what the next one has cancelled (${how})`, async () => {
      const master = await findMaster();
      const text = `a list ${how}`;
      const to = makeNumbers(LIST + LATE, 1 + isCutOff);
      // What was refused may still be shown.
      await eventually(() => send([to[0]!], 'before'), CALMLY);
      const list = await send(to.slice(0, LIST), text);
      await eventually(() => shown(ACCOUNT, text).length >= 5, { ...WITHIN, what: 'the list is under way' });
      const heal = cutOff(master);
      let cancelled: string[];
      try {
        const late = await gateway.call('POST', '/send', { device: 'default', body: { to: to.slice(LIST), text } });
        expect(late.status, JSON.stringify(late.body)).to.equal(503);
        const next = await eventually(async () => {
          const found = await sentinels.findMaster();
          return found !== master && found;
        }, WITHIN);
        cancelled = await cancelAt(next, list);
      } finally {
        heal();
      }
      expect(cancelled).to.not.have.length(0);
      const isDone = async () => (await readSend(space.store, ADDRESS, list))?.state !== 'open';
      await eventually(isDone, { ...WITHIN, what: 'the send is over' });
      await eventually(() => send([to[0]!], `after ${text}`), CALMLY);
      await eventually(() => shown(ACCOUNT, `after ${text}`).length > 0, { ...WITHIN, what: 'it goes on' });
      expect(
        shown(ACCOUNT, text).filter((number) => cancelled.includes(number)),
        'shown, cancelled',
      ).to.deep.equal([]);
      const others = to.slice(0, LIST).filter((number) => !cancelled.includes(number));
      expect(shown(ACCOUNT, text).sort(), 'shown').to.deep.equal(others.sort());
    });
  }

  it('goes on without replicas where the master was not replaced in a minute', async () => {
    const master = await findMaster();
    const to = makeNumbers(LATE, 3);
    await eventually(() => send([to[0]!], 'before'), CALMLY);
    const replicas = sentinels.servers.filter((server) => server !== master);
    for (const replica of replicas) await replica.kill();
    const fromMs = performance.now();
    try {
      const text = 'without replicas';
      const { status } = await gateway.call('POST', '/send', { device: 'default', body: { to, text } });
      expect(status).to.equal(503);
      await eventually(() => shown(ACCOUNT, text).length > 0, { ...WITHIN, timeoutMs: 90_000, what: 'it goes on' });
      expect(performance.now() - fromMs).to.be.above(60_000);
      await eventually(() => shown(ACCOUNT, text).length === LATE, { everyMs: 100, what: 'all are shown' });
    } finally {
      for (const replica of replicas) replica.restart();
    }
  });

  function findMaster(): Promise<RedisProcess> {
    return eventually(async () => {
      const found = await sentinels.findMaster();
      return (await sentinels.agreeOn(found)) && found;
    }, WITHIN);
  }

  /** Answers who was told as cancelled. */
  async function cancelAt(server: RedisProcess, messageId: string): Promise<string[]> {
    const clients = createRedisClients({ url: server.ownUrl, logger: silentLogger, purposes: ['commands'] });
    await clients.waitForReady();
    try {
      const { store, keySettings } = space;
      const there = createStore({ redis: clients.commands, space: store.space, keyRings: readKeyRings(keySettings) });
      await eventually(() => cancelSend(there, ADDRESS, messageId), WITHIN);
      const { tag } = (await readSend(there, ADDRESS, messageId))!;
      const recipients = await readRecipients(there, ADDRESS, tag, { from: 0, limit: LIST });
      return recipients.filter(({ status }) => status === 'cancelled').map(({ to }) => to);
    } finally {
      await clients.close();
    }
  }
});
