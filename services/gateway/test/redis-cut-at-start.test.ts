import { eventually } from '@gateway/testkit/eventually';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { findSteadyPort } from '@gateway/testkit/redis-servers/steady-port';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';

/** As failovers do it. */
const CUTS = 24;
/** Of what it asks, between two. */
const MOST_PIECES = 12;

describe('a process whose connections to Redis are cut while it starts', () => {
  let space: RedisSpace;
  let proxy: RedisProxy;
  before(async () => {
    space = await openRedisSpace();
    proxy = await startRedisProxy(space.url);
  });
  after(async () => {
    proxy.close();
    await space.close();
  });

  /** While it starts. */
  const cutOften = async (hasStarted: () => boolean) => {
    for (let cut = 0; cut < CUTS && !hasStarted(); cut++) {
      const until = proxy.sentPieces + 1 + (cut % MOST_PIECES);
      const isThere = () => hasStarted() || proxy.sentPieces >= until;
      await eventually(isThere, { everyMs: 1, what: `it asks on after ${cut} cuts` });
      proxy.cut();
      proxy.restore();
    }
  };

  for (const role of ['api', 'sender', 'connection', 'events', 'dashboard', 'connection,sender,events,api,dashboard']) {
    it(`starts all the same (${role})`, async () => {
      const port = async () => String(await findSteadyPort());
      const starting = ServiceProcess.start(role, {
        ...{ REDIS_URL: proxy.url, KEY_PREFIX: space.prefix, ...space.keySettings },
        ...{ API_PORT: await port(), DASHBOARD_PORT: await port() },
      });
      let hasEnded = false;
      const ended = starting
        .catch(() => {})
        .finally(() => {
          hasEnded = true;
        });
      await Promise.all([cutOften(() => hasEnded), ended]);
      await (await starting).stop();
    });
  }
});
