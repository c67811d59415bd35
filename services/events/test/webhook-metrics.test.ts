import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { ensureDevice } from '@gateway/store/devices/devices';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { pauseWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { takeDevice } from '@gateway/testkit/ownership';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';

const HOUR_MS = 3_600_000;

describe('the metrics of webhooks', () => {
  let space: RedisSpace;
  let events: ServiceProcess | undefined;
  let server: Server;
  let port: number;
  beforeEach(async () => {
    space = await openRedisSpace();
    server = createServer((req, res) => res.writeHead(Number(req.url!.slice(1))).end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    port = (server.address() as AddressInfo).port;
  });
  afterEach(async () => {
    await events?.kill();
    server.close();
    await space.close();
  });

  /** One that will answer everything with that status. */
  const create = (status: number) => createActiveWebhook(space.store, `http://127.0.0.1:${port}/${status}`);
  async function start(): Promise<void> {
    const { CONTENT_KEYS } = space.keySettings;
    const env = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, CONTENT_KEYS, OPS_PORT: '0' };
    events = await ServiceProcess.start('events', { ...env, WEBHOOK_NETWORKS: '127.0.0.1/32' });
  }
  const happens = () => addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
  const read = async () => {
    const text = await events!.metrics();
    return (series: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.split(' ')[1],
      );
  };

  it('tell how endpoints answer, how many fail, and how late they hear of things', async () => {
    await create(204);
    await create(404);
    await create(503);
    const paused = await create(204);
    await pauseWebhook(space.store, 'main', paused);
    await happens();
    await start();
    const metric = await eventually(async () => {
      const metric = await read();
      const answered = ['taken', 'refused', 'server_error'].map((outcome) =>
        metric(`gateway_webhook_attempts_total{outcome="${outcome}"}`),
      );
      return answered.every((count) => count >= 1) && metric;
    });
    expect(metric('gateway_webhook_attempts_total{outcome="no_answer"}')).to.equal(0);
    expect(metric('gateway_webhook_tell_duration_seconds_count{lane="prompt"}')).to.equal(1);
    expect(metric('gateway_webhook_tell_duration_seconds_sum{lane="prompt"}')).to.be.within(0.001, 30);
    await events!.kill();
    // Each process looks at all of them as it starts.
    await start();
    await eventually(async () => {
      const metric = await read();
      const counts = ['active', 'failing', 'paused', 'disabled'].map((state) =>
        metric(`gateway_webhooks{state="${state}"}`),
      );
      expect(counts).to.deep.equal([1, 2, 1, 0]);
      expect(metric('gateway_webhook_failing_seconds')).to.be.within(0.001, 60);
      return true;
    });
  });

  it('tell how many messages endpoints took without their content, for which there was no room', async () => {
    const address = { workspace: 'main', device: 'a' };
    await create(204);
    await ensureDevice(space.store, address);
    const ownership = (await takeDevice(space.store, address, { owner: 'test', ttlMs: 60_000 }))!;
    for (const platformId of ['A', 'B', 'C']) {
      const message = { platformId, jid: '491511234001@s.whatsapp.net', text: 'hello' };
      await recordReceived(space.store, ownership, { message, nowMs: Date.now(), mostBytes: 0 });
    }
    await start();
    await eventually(async () => {
      const metric = await read();
      expect(metric('gateway_webhook_attempts_total{outcome="taken"}')).to.equal(3);
      expect(metric('gateway_webhook_events_without_content_total')).to.equal(2);
      return true;
    });
  });

  it('tell since when one fails, and how old the oldest event is that one was not told', async () => {
    const failing = await create(503);
    const behind = await create(204);
    const keys = workspaceKeys(space.store.space, 'main');
    const nowMs = Date.now();
    await happens();
    // As if all of that had been an hour ago, and another process delivered to them.
    await space.clients.commands.del(keys.eventLog);
    await space.clients.commands.xadd(keys.eventLog, `${nowMs - HOUR_MS}-0`, 'e', 'x');
    const lane = JSON.stringify({ cursor: '0-0' });
    await space.clients.commands.set(keys.webhookSession('other'), '');
    const owner = { owner: 'other' };
    await space.clients.commands.hset(keys.webhook(behind), { 'lane:prompt': lane, ...owner });
    const breaker = JSON.stringify({ failures: 9, sinceMs: nowMs - 2 * HOUR_MS, nextAttemptMs: nowMs + HOUR_MS });
    await space.clients.commands.hset(keys.webhook(failing), { status: 'failing', breaker, ...owner });
    await space.clients.commands.zadd(keys.webhookParkedSince(behind), 1, 'one', 2, 'another');
    await start();
    await eventually(async () => {
      const metric = await read();
      expect(metric('gateway_webhook_parked')).to.equal(2);
      expect(metric('gateway_webhook_failing_seconds')).to.be.within(7_200, 7_300);
      expect(metric('gateway_webhook_undelivered_age_seconds')).to.be.within(3_600, 3_700);
      return true;
    });
  });
});
