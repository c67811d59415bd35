import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ensureDevice } from '@gateway/store/devices/devices';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { makeMemoryBound } from '@gateway/testkit/attacks/memory-bound';
import { eventually } from '@gateway/testkit/eventually';
import { takeDevice } from '@gateway/testkit/ownership';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';

const MEGABYTE = 1024 * 1024;
/** Of its container. */
const LIMIT_BYTES = 384 * MEGABYTE;
const MOST_GROWTH_BYTES = 150 * MEGABYTE;
const ENDPOINTS = 25;
const MESSAGES = 60;
const TEXT = '日'.repeat(65_536);
const ANSWER_MS = 200;

describe('an events process whose people write the longest texts, to many endpoints that take twenty at a time', () => {
  let space: RedisSpace;
  let server: Server;
  const posted = new Map<string, number>();
  before(async () => {
    space = await openRedisSpace();
    server = createServer((req, res) => {
      posted.set(req.url!, (posted.get(req.url!) ?? 0) + 1);
      req.resume().once('end', () => setTimeout(() => res.writeHead(204).end(), ANSWER_MS));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await space.close();
  });
  const create = (path: string, workspace: string, settings = {}) => {
    const { port } = server.address() as AddressInfo;
    return createActiveWebhook(space.store, `http://127.0.0.1:${port}/${path}`, workspace, settings);
  };
  const receive = async () => {
    const { store } = space;
    const address = { workspace: 'main', device: 'a' };
    await ensureDevice(store, address);
    const ownership = await takeDevice(store, address, { owner: 'a', ttlMs: 600_000 });
    for (let n = 0; n < MESSAGES; n++) {
      const phone = `49151123${40_000 + n}`;
      const message = { platformId: `M${n}`, jid: `${phone}@s.whatsapp.net`, phone, text: TEXT };
      await recordReceived(store, ownership!, { message, nowMs: Date.now() });
    }
  };

  it('stays small, tells the others at once, and each endpoint all of it', async () => {
    for (let n = 0; n < ENDPOINTS; n++) await create(`${n}`, 'main', { types: ['message.received'], concurrency: 20 });
    await create('other', 'other');
    await receive();
    const bound = makeMemoryBound(LIMIT_BYTES);
    const settings = { ...space.keySettings, REDIS_URL: space.url, KEY_PREFIX: space.prefix };
    const env = { ...settings, WEBHOOK_NETWORKS: '127.0.0.1/32' };
    const events = await ServiceProcess.start('events', env, { prefix: bound?.prefix ?? [] });
    const memory = (what: 'VmRSS' | 'VmHWM') =>
      1024 * Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${events.pid}/status`, 'utf8'))?.[1]);
    const before = memory('VmRSS');
    try {
      await eventually(() => posted.size > 0);
      await addOptOuts(space.store, 'other', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
      await eventually(() => posted.has('/other'), { timeoutMs: 15_000 });
      const all = Array.from({ length: ENDPOINTS }, (_, n) => `/${n}`);
      const haveAll = () => all.every((path) => (posted.get(path) ?? 0) >= MESSAGES);
      await eventually(haveAll, { timeoutMs: 300_000, everyMs: ANSWER_MS });
      expect(bound?.kills() ?? 0).to.equal(0);
      expect(memory('VmHWM') - before).to.be.below(MOST_GROWTH_BYTES);
    } finally {
      await events.stop();
      bound?.remove();
    }
  });
});
