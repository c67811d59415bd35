import { createLogger } from '@gateway/runtime/logs/logger';
import { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { type ProcessHost, startProcessHost } from '@gateway/runtime/process/process-host';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisSentinels, startRedisSentinels } from '@gateway/testkit/redis-servers/redis-sentinels';
import { expect } from 'chai';

const WITHIN = { everyMs: 100 };
const KEY = 'gw:{#0}:key';
/** Which of them hears of the failover while it asks is chance. */
const PROCESSES = 4;

describe('processes whose master hangs together with the Sentinel that they ask first', () => {
  const lifecycle = new Lifecycle({ logger: createLogger({ service: 'test', level: 'error' }) });
  let servers: RedisSentinels;
  let hosts: ProcessHost[];

  before(async () => {
    servers = await startRedisSentinels();
    hosts = await Promise.all(Array.from({ length: PROCESSES }, () => startHost()));
  });
  after(async () => {
    await lifecycle.stop();
    await servers.stop();
  });

  async function startHost(): Promise<ProcessHost> {
    const config = {
      ...{ REDIS_URL: servers.url, REDIS_WAIT_REPLICAS: 1, REDIS_WITHOUT_AOF: false },
      ...{ KEY_PREFIX: 'gw', CONTENT_KEYS: [], LOG_LEVEL: 'error' as const, OPS_HOST: '127.0.0.1', OPS_PORT: 0 },
    };
    const host = await startProcessHost<'failFast'>(lifecycle, { name: 'test', config, purposes: ['failFast'] });
    host.started();
    return host as ProcessHost;
  }

  async function promise(host: ProcessHost): Promise<void> {
    await host.clients.failFast.set(KEY, 'promised');
    await host.confirmWrites(host.clients.failFast, KEY);
  }

  const readiness = async ({ opsPort }: ProcessHost) =>
    (await (await fetch(`http://127.0.0.1:${opsPort}/readyz`)).json()) as { ready: boolean; checks: object };

  it('confirm writes again once there is another master, and are ready', async () => {
    for (const host of hosts) await eventually(() => promise(host).then(() => true), WITHIN);
    const old = await servers.findMaster();
    const [beside] = servers.sentinels;
    beside!.freeze();
    old.freeze();
    try {
      for (const host of hosts) {
        await eventually(() => promise(host).then(() => true), { ...WITHIN, timeoutMs: 30_000 });
        await eventually(async () => (await readiness(host)).ready, WITHIN);
      }
    } finally {
      beside!.thaw();
      old.thaw();
    }
  });

  it('are not ready while they can write and not confirm', async () => {
    const [host] = hosts as [ProcessHost];
    await eventually(async () => (await readiness(host)).ready, WITHIN);
    const { confirms } = host.clients as unknown as Record<'confirms', ProcessHost['clients']['failFast']>;
    const again = confirms.connect.bind(confirms);
    // As a connection that was given up for good.
    confirms.connect = async () => {};
    confirms.disconnect();
    await eventually(
      async () => 'confirms' in (await readiness(host)).checks && !(await readiness(host)).ready,
      WITHIN,
    );
    expect((await readiness(host)).checks).to.have.property(
      'confirms',
      'the connection that confirms writes does not answer',
    );
    confirms.connect = again;
    await confirms.connect();
    await eventually(async () => (await readiness(host)).ready, WITHIN);
    await eventually(() => promise(host).then(() => true), WITHIN);
  });
});
