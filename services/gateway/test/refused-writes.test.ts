import { eventually } from '@gateway/testkit/eventually';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ROLES = ['sender', 'connection'] as const;

describe('a process of its own whose Redis refuses writes', () => {
  let redis: RedisProcess;
  let space: RedisSpace;
  const processes = new Map<string, ServiceProcess>();

  before(async () => {
    redis = await RedisProcess.start();
    space = await openRedisSpace(redis);
    const env = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, ...space.keySettings };
    const start = async (role: string) => void processes.set(role, await ServiceProcess.start(role, env));
    await Promise.all(ROLES.map(start));
  });
  // What a test has changed.
  afterEach(() => needReplicas(0));
  after(async () => {
    await Promise.all([...processes.values()].map((process) => process.stop()));
    await space?.close();
    await redis?.stop();
  });

  /** A write is refused while Redis has fewer replicas: it has none. */
  const needReplicas = (count: number) => space.clients.commands.config('SET', 'min-replicas-to-write', count);

  async function askReadiness(role: string) {
    const { opsPort } = await processes.get(role)!.waitForLog((line) => typeof line.opsPort === 'number');
    const answer = await fetch(`http://127.0.0.1:${opsPort}/readyz`);
    const { checks } = (await answer.json()) as { checks: Record<string, string> };
    return { status: answer.status, checks };
  }

  for (const role of ROLES) {
    it(`is not ready until it takes them again (${role})`, async () => {
      // A sender is ready a moment after it has said so: it looks for devices first.
      await eventually(async () => (await askReadiness(role)).status === 200);
      expect((await askReadiness(role)).checks).to.include({ writes: 'ok' });
      await needReplicas(1);
      const { status, checks } = await askReadiness(role);
      expect(status).to.equal(503);
      expect(checks.writes).to.match(/^NOREPLICAS /);
      await needReplicas(0);
      await eventually(async () => (await askReadiness(role)).status === 200);
    });
  }
});
