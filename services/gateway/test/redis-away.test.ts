import { DEFAULT_WORKSPACE } from '@gateway/contracts/ids';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { findSteadyPort } from '@gateway/testkit/redis-servers/steady-port';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

describe('an api whose Redis is away', () => {
  let space: RedisSpace;
  let proxy: RedisProxy;
  let starting: Promise<ServiceProcess>;
  let opsUrl: string;
  let env: Record<string, string>;

  before(async () => {
    space = await openRedisSpace();
    proxy = await startRedisProxy(space.url);
    proxy.cut();
    const [opsPort, apiPort] = [await findSteadyPort(), await findSteadyPort()];
    opsUrl = `http://127.0.0.1:${opsPort}`;
    const { CONTENT_KEYS } = space.keySettings;
    env = { REDIS_URL: proxy.url, KEY_PREFIX: space.prefix, CONTENT_KEYS };
    starting = ServiceProcess.start('api', {
      ...env,
      OPS_PORT: String(opsPort),
      API_PORT: String(apiPort),
      MAX_DEVICE: '3',
    });
    env.API_URL = `http://127.0.0.1:${apiPort}`;
  });
  after(async () => {
    await (await starting.catch(() => undefined))?.stop();
    proxy.close();
    await space.close();
  });

  const ask = (path: string) => fetch(`${opsUrl}${path}`);

  it('waits for it, alive and not ready, and starts when it is there; what it was told in vain it says', async () => {
    await eventually(async () => (await ask('/livez').catch(() => undefined))?.status === 200);
    const readiness = await ask('/readyz');
    expect(readiness.status).to.equal(503);
    expect(await readiness.json()).to.deep.equal({ ready: false, checks: { start: 'waits for Redis' } });
    proxy.restore();
    const { logs } = await starting;
    expect(logs.find(({ message }) => message === 'unknown setting is ignored')).to.include({
      setting: 'MAX_DEVICE',
      nearest: 'MAX_DEVICES',
    });
    expect((await ask('/readyz')).status).to.equal(200);
  });

  it('stays ready when it goes, and answers 503 with Retry-After within 3 s', async () => {
    const { value: token } = await createApiToken(space.store, DEFAULT_WORKSPACE, { name: 'test' });
    const send = () =>
      fetch(`${env.API_URL}/api/messenger/v1/send`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ to: '447700900123', text: 'hello' }),
      });
    expect((await send()).status).to.equal(409);
    proxy.cut();
    const askedAtMs = performance.now();
    const answer = await send();
    expect(answer.status).to.equal(503);
    expect(performance.now() - askedAtMs).to.be.below(3_000);
    expect(Number(answer.headers.get('retry-after'))).to.be.within(1, 60);
    expect((await ask('/readyz')).status).to.equal(200);
    proxy.restore();
    await eventually(async () => (await send()).status === 409);
  });
});
