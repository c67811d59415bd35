import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { findSteadyPort } from '@gateway/testkit/redis-servers/steady-port';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

describe('a service in a process of its own', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  it('that is not ready in time leaves nothing behind, and its port to the next', async () => {
    const env = {
      REDIS_URL: space.url,
      KEY_PREFIX: space.prefix,
      CONTENT_KEYS: space.keySettings.CONTENT_KEYS,
      API_PORT: String(await findSteadyPort()),
    };
    const late = await ServiceProcess.start('api', env, { readyMs: 1 }).catch((thrown: Error) => thrown);
    expect(late).to.be.instanceOf(Error);
    const next = await ServiceProcess.start('api', env);
    // One that was late, too, would want the port about now.
    expect(await next.stop()).to.equal(true);
    const last = await ServiceProcess.start('api', env);
    expect(await last.stop()).to.equal(true);
  });
});
