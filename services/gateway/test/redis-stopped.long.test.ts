import { sleep } from '@gateway/runtime/clock';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { setPace } from '@gateway/store/devices/devices';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '491600000079';
const DEFAULT = { workspace: 'main', device: 'default' };
const LIST = 120;
/**
 * It stands for a minute, as in that time no other limit passes than in this one: of commands and requests (2 s), sessions (here 2 s,
 * hence many times), members (6 s), pings and surveys (10 s), and connections that answer nothing (15 s), which are opened anew.
 */
const AWAY_MS = 16_500;
const within = (what: string) => ({ everyMs: 100, what });
/** While it is away. */
const ASK_EVERY_MS = 200;

describe('a gateway whose Redis hangs, then dies, and comes back', () => {
  const fixture = useGateway({ ownRedis: true, senders: 2, env: { SESSION_TTL_MS: '2000', PACE_PER_MINUTE: '600' } });
  const { gateway, redis, space } = fixture;

  async function ask(path: '/livez' | '/readyz'): Promise<number> {
    const { opsPort } = await gateway.api.waitForLog((line) => typeof line.opsPort === 'number');
    return (await fetch(`http://127.0.0.1:${opsPort}${path}`)).status;
  }
  async function send(to: string, key: string) {
    const askedAtMs = performance.now();
    const headers = { 'idempotency-key': key };
    const { status, headers: told } = await gateway.call('POST', '/send', { body: { to, text: 'meanwhile' }, headers });
    return { status, retryAfter: Number(told.get('retry-after')), tookMs: performance.now() - askedAtMs };
  }

  it('keeps its api ready, which answers 503 within 3 s; then goes on by itself, and has lost nothing', async () => {
    await gateway.link(ACCOUNT);
    const list = makeNumbers(LIST, 1);
    await fixture.send(list, 'the list');
    await eventually(() => fixture.shown(ACCOUNT, 'the list').length >= 20, within('a part of the list is shown'));

    redis.freeze();
    const untilMs = performance.now() + AWAY_MS;
    const [waiting] = makeNumbers(1, 2) as [string];
    let isDead = false;
    while (performance.now() < untilMs) {
      const [readyz, livez, answer] = await Promise.all([ask('/readyz'), ask('/livez'), send(waiting, 'one')]);
      expect([readyz, livez, answer.status]).to.deep.equal([200, 200, 503]);
      expect(answer.tookMs).to.be.below(3_000);
      expect(answer.retryAfter).to.be.within(1, 60);
      // In the last second there is no one to connect to.
      if (!isDead && performance.now() > untilMs - 2_000) {
        await redis.kill();
        isDead = true;
      }
      await sleep(ASK_EVERY_MS);
    }
    expect(isDead).to.equal(true);
    expect(fixture.shown(ACCOUNT, 'the list').length, 'the list outlasted it').to.be.below(LIST);
    redis.restart();

    // As its caller was told: the same again.
    await eventually(async () => (await send(waiting, 'one')).status === 202, within('the api accepts again'));
    await setPace(space.store, DEFAULT, { messagesPerMinute: 0, burst: 5, jitter: 0 });
    await ringDoorbell(space.store, { topic: 'sends', ...DEFAULT });
    const wanted = [...list, waiting].sort();
    await eventually(() => expect(fixture.shown(ACCOUNT).sort()).to.deep.equal(wanted), within('all are shown'));
    expect(await ask('/readyz')).to.equal(200);
    for (const service of [gateway.api, ...gateway.senders, ...gateway.connections])
      expect(service.isRunning, service.service).to.equal(true);
  });
});
