import { createMetrics } from '@gateway/runtime/process/metrics';
import { addProcessMetrics } from '@gateway/runtime/process/process-metrics';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { testRedisUrl } from '@gateway/testkit/config';
import { eventually } from '@gateway/testkit/eventually';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

describe('what a process tells of itself', () => {
  let clients: RedisClients;
  afterEach(() => clients?.close());

  it('is how long Redis takes for its commands, which have no answer, and whether it is there', async () => {
    const registry = createMetrics();
    const { onCommand } = addProcessMetrics(registry, () => ({ failFast: clients.failFast.status === 'ready' }));
    clients = createRedisClients({ url: testRedisUrl(), logger, onCommand });
    await clients.waitForReady();
    const series = async (name: string) =>
      Number(
        (await registry.metrics())
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1],
      );
    const commands = () => series('gateway_redis_command_duration_seconds_count{connection="fail_fast"}');
    const errors = (cause: string) =>
      series(`gateway_redis_command_errors_total{connection="fail_fast",cause="${cause}"}`);
    const before = await commands();
    await clients.failFast.ping();
    await clients.failFast.lpush('gateway_test', 'a', 'b').finally(() => clients.failFast.del('gateway_test'));
    await clients.failFast.call('NONSENSE').catch(() => {});
    // Its text is that of our own Lua steps: an answer.
    await clients.failFast.eval("return redis.error_reply('FENCED of a stale owner')", 0).catch(() => {});
    expect((await commands()) - before).to.equal(5);
    expect([await errors('other'), await errors('full'), await errors('away')]).to.deep.equal([1, 0, 0]);
    expect(await series('gateway_redis_up{connection="fail_fast"}')).to.equal(1);
    await clients.failFast.eval("return redis.error_reply('OOM command not allowed')", 0).catch(() => {});
    expect(await errors('full')).to.equal(1);
    clients.failFast.disconnect();
    await clients.failFast.ping().catch(() => {});
    expect(await errors('away')).to.equal(1);
    await eventually(async () => (await series('gateway_redis_up{connection="fail_fast"}')) === 0);
  });

  it('is a digest of settings in which processes must agree, of keys only their ids', async () => {
    const fingerprints = async (settings: object) => {
      const registry = createMetrics();
      addProcessMetrics(registry, () => ({})).noteSettings(settings);
      return [...(await registry.metrics()).matchAll(/^gateway_config_info\{(.*)\} 1$/gm)].map(([, labels]) => labels);
    };
    const key = (id: string, byte: number) => ({ id, key: Buffer.alloc(32, byte) });
    const settings = { PACE_PER_MINUTE: 20, CONTENT_KEYS: [key('a', 1)], API_PORT: 3000 };
    const [pace, keys, ...others] = await fingerprints(settings);
    expect(others, 'none of what may differ').to.deep.equal([]);
    expect(await fingerprints({ ...settings, API_PORT: 1 })).to.deep.equal([pace, keys]);
    expect(await fingerprints({ ...settings, CONTENT_KEYS: [key('a', 2)] }), 'no digest of a secret').to.deep.equal([
      ...[pace, keys],
    ]);
    for (const name of ['REDIS_WAIT_REPLICAS', 'WEBHOOK_NETWORKS', 'WEBHOOK_DENIED_NETWORKS', 'NAT64_PREFIXES']) {
      const [one, other] = [await fingerprints({ [name]: [] }), await fingerprints({ [name]: ['10.0.0.0/8'] })];
      expect(one.concat(other).join(), name).to.match(new RegExp(`setting="${name.toLowerCase()}".*setting="`));
      expect(one).not.to.deep.equal(other);
    }
    const [otherPace, otherKeys] = await fingerprints({ PACE_PER_MINUTE: 0, CONTENT_KEYS: [key('b', 1)] });
    expect(otherPace)
      .to.match(/^setting="pace",fingerprint="[0-9a-f]{8}"$/)
      .and.not.equal(pace);
    expect(otherKeys)
      .to.match(/^setting="content_keys"/)
      .and.not.equal(keys);
  });
});
