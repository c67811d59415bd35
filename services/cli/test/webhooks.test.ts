import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { listAudit } from '@gateway/store/console/audit';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { runCli } from './support/run-cli.js';

describe('webhooks on the command line', () => {
  let space: RedisSpace;
  before(async () => {
    space = await openRedisSpace();
  });
  after(() => space.close());

  it('are made, tested, rotated, paused and deleted', async () => {
    const posted: { headers: Record<string, string>; body: Buffer }[] = [];
    const receiver = createServer(async (req, res) => {
      posted.push({ headers: req.headers as Record<string, string>, body: await buffer(req) });
      res.end();
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    const env = { WEBHOOK_NETWORKS: '127.0.0.1/32' };
    const cli = async (args: string) => {
      const { stdout, stderr } = await runCli(space, [...args.split(' '), '--json'], { env });
      expect(stderr).to.equal('');
      return JSON.parse(stdout);
    };
    try {
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
      const { webhookId, secret } = await cli(`webhooks create ${url} --types send.finished,message.failed`);
      expect(await cli(`webhooks test ${webhookId}`)).to.include({ delivered: true, webhookStatus: 'active' });
      new Webhook(secret).verify(posted[0]!.body, posted[0]!.headers);
      expect((await cli(`webhooks rotate ${webhookId} --overlap 0`)).secret).to.match(/^whsec_/);
      expect(await cli(`webhooks pause ${webhookId}`)).to.include({ status: 'paused' });
      expect(await cli(`webhooks resume ${webhookId}`)).to.include({ status: 'active' });
      // Each takes a process of its own: these change nothing.
      const [deliveries, parked, replayed, [listed, ...others], refused] = await Promise.all([
        cli(`webhooks deliveries ${webhookId}`),
        cli(`webhooks parked ${webhookId}`),
        cli(`webhooks replay ${webhookId} evt_1 evt_2`),
        cli('webhooks list'),
        runCli(space, ['webhooks', 'create', url]),
      ]);
      expect([deliveries.length, parked, others]).to.deep.equal([1, [], []]);
      expect(replayed).to.deep.equal({ webhookId, unknown: ['evt_1', 'evt_2'] });
      expect(listed).to.deep.include({ webhookId, url, types: ['send.finished', 'message.failed'] });
      const message = 'error: not a URL by https, or one in a network that is not allowed\n';
      expect([refused.code, refused.stderr]).to.deep.equal([1, message]);
      expect((await cli(`webhooks replay ${webhookId} --after 2026-01-01T00:00:00Z`)).unknown).to.deep.equal([]);
      expect(await cli(`webhooks delete ${webhookId}`)).to.deep.equal({ deleted: webhookId });
      const done = (await listAudit(space.store)).map(({ action, target }) => [action, target]).reverse();
      const what = ['created', 'tested', 'secret_rotated', 'paused', 'resumed', 'replayed', 'replayed', 'deleted'];
      expect(done).to.deep.equal(what.map((each) => [`webhook.${each}`, webhookId]));
    } finally {
      receiver.close();
    }
  });
});
