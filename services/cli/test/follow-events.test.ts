import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { eventSchema, type GatewayEvent } from '@gateway/contracts/events/events';
import { makeWebhookSecret } from '@gateway/contracts/webhooks/signature';
import { DEFAULT_WEBHOOK_SETTINGS, type WebhookSettings } from '@gateway/contracts/webhooks/webhook';
import { openEvents } from '@gateway/store/events/open-events';
import { endOfLog } from '@gateway/store/events/read-log';
import { listAttempts, recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { createWebhook, type Webhook as Endpoint } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { startRedisProxy } from '@gateway/testkit/redis-proxy';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { runCli, startCli } from './support/run-cli.js';

/** Long ago: the newest is another. */
const TAKEN = { webhookId: 'evt_test', atMs: 1, tookMs: 1, status: 200, error: null, answer: '' };
const env = { WEBHOOK_NETWORKS: '127.0.0.1/32' };

describe('events on the command line', () => {
  let space: RedisSpace;
  let server: Server;
  let url: string;
  let status: number;
  let posted: { headers: Record<string, string>; body: Buffer }[];
  before(async () => {
    server = createServer(async (req, res) => {
      posted.push({ headers: req.headers as Record<string, string>, body: await buffer(req) });
      res.writeHead(status).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  });
  after(() => server.close());
  beforeEach(async () => {
    [status, posted] = [200, []];
    space = await openRedisSpace();
    await createWorkspace(space.store, 'main');
    await openEvents(space.store, 'main');
  });
  afterEach(() => space.close());

  const optOut = (phone: string) =>
    addOptOuts(space.store, 'main', { numbers: [phone], source: 'api', atMs: Date.now() });
  async function trigger(...args: string[]) {
    const { stdout, stderr } = await runCli(space, ['webhooks', 'trigger', ...args, '--json'], { env });
    expect(stderr).to.equal('');
    return { shown: JSON.parse(stdout) };
  }

  it('are printed as they come, each once although Redis was away, until ^C', async () => {
    const proxy = await startRedisProxy(space.url);
    const listening = startCli(space, ['webhooks', 'listen', '--after', '0'], { redisUrl: proxy.url });
    try {
      await optOut('447700900001');
      await eventually(() => listening.lines.length === 1);
      proxy.cut();
      await optOut('447700900002');
      proxy.restore();
      await optOut('447700900003');
      await eventually(() => listening.lines.length === 3);
      const phones = listening.lines.map(({ event }) => (event as GatewayEvent).data.phones);
      expect(phones).to.deep.equal([['447700900001'], ['447700900002'], ['447700900003']]);
      expect(await listening.interrupt()).to.equal(0);
    } finally {
      await listening.interrupt();
      proxy.close();
    }
  });

  it('are told from the oldest on behind a cursor that is ahead of all of them, as when a clock was set back', async () => {
    await optOut('447700900001');
    const listening = startCli(space, ['webhooks', 'listen', '--after', `${Date.now() + 3_600_000}-0`]);
    try {
      await eventually(() => listening.lines.length === 2);
      const [gap, told] = listening.lines;
      expect(gap).to.deep.equal({ gap: true, oldest: '0-0' });
      expect((told!.event as GatewayEvent).data.phones).to.deep.equal(['447700900001']);
    } finally {
      await listening.interrupt();
    }
  });

  it('are posted to a server of this machine, from a cursor on, signed, and what it answers is shown', async () => {
    await optOut('447700900001');
    const { entry } = await endOfLog(space.store, 'main');
    await optOut('447700900002');
    const forwarding = startCli(space, ['webhooks', 'forward', url, '--after', entry, '--types', 'optout.added']);
    try {
      await eventually(() => forwarding.lines.length === 2);
      status = 500;
      await optOut('447700900003');
      await eventually(() => forwarding.lines.length === 3);
      const [{ secret }, ...told] = forwarding.lines as [{ secret: string }, ...Record<string, unknown>[]];
      expect(told.map(({ type, answered }) => [type, answered])).to.deep.equal([
        ['optout.added', 200],
        ['optout.added', 500],
      ]);
      const verified = posted.map(({ headers, body }) => new Webhook(secret).verify(body, headers) as GatewayEvent);
      expect(verified.map(({ data }) => data.phones)).to.deep.equal([['447700900002'], ['447700900003']]);
      expect(verified.map(({ id }) => id)).to.deep.equal(told.map(({ id }) => id));
      const { shown } = await trigger('otp.failed', '--to', url);
      expect(shown[0]).to.include({ to: url, type: 'otp.failed', answered: 500 });
      const { headers, body } = posted.at(-1)!;
      expect(new Webhook(secret).verify(body, headers), 'the secret stays').to.include({ type: 'otp.failed' });
    } finally {
      await forwarding.interrupt();
    }
  });

  it('come as examples to the endpoints that get events and ask for them, and say that they are tests', async () => {
    const make = (types: string[], secret: string, hiding: Partial<WebhookSettings> = {}) =>
      createWebhook(space.store, 'main', {
        settings: { ...DEFAULT_WEBHOOK_SETTINGS, types, ...hiding },
        target: { url, headers: {} },
        secrets: [{ secret }],
      }) as Promise<Endpoint>;
    const verify = ({ id, revision }: Endpoint) =>
      recordAttempt(space.store, 'main', id, { attempt: TAKEN, verifiesRevision: revision });
    const [asks, other] = [makeWebhookSecret('v1'), makeWebhookSecret('v1')];
    const endpoint = await make(['message.received'], asks, { content: 'none', numbers: 'masked' });
    await Promise.all([endpoint, await make(['send.finished'], other)].map(verify));
    await make(['message.received'], other);
    const { shown } = await trigger('message.received');
    expect(shown).to.have.length(1);
    expect(shown[0]).to.include({ to: endpoint.id, answered: 200 });
    expect(posted).to.have.length(1);
    const event = new Webhook(asks).verify(posted[0]!.body, posted[0]!.headers) as GatewayEvent;
    expect(event).to.deep.include({ type: 'message.received', test: true });
    expect(eventSchema('message.received').validate(event).error).to.equal(undefined);
    expect(event.data, 'as the endpoint wants it').to.deep.include({
      name: null,
      content: { type: 'text', text: null },
    });
    expect(event.data.from).to.match(/\*/);
    const [newest] = await listAttempts(space.store, 'main', endpoint.id, 1);
    expect(newest).to.include({ webhookId: event.id, status: 200 });
  });
});
