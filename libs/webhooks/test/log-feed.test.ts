import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type ChangeData, eventSchema, type GatewayEvent } from '@gateway/contracts/events/events';
import { parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { makeWebhookSecret } from '@gateway/contracts/webhooks/signature';
import { DEFAULT_WEBHOOK_SETTINGS, type WebhookSettings } from '@gateway/contracts/webhooks/webhook';
import { parseNetworks } from '@gateway/egress/address-rules';
import { ensureDevice } from '@gateway/store/devices/devices';
import { boundLog, findFullOutboxes, relayOutbox } from '@gateway/store/events/relay-outbox';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { createWebhook, listWebhooks, resumeWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { deliver } from '@gateway/webhooks/deliver';
import { logFeed } from '@gateway/webhooks/log-feed';
import { expect } from 'chai';
import { useOwnedDevice } from '../../store/test/support/use-owned-device.js';
import { silentCounts } from './support/silent-counts.js';

const PEOPLE = Array.from({ length: 1_200 }, (_, i) => `49151123${String(40_000 + i)}`);

describe('the log of a workspace, told to a webhook', () => {
  const { address, space, ownership } = useOwnedDevice();
  let server: Server;
  let events: GatewayEvent[];
  let status: number;
  let aheadMs: number;
  let refuses: (event: GatewayEvent) => boolean;
  /** Also what was refused. */
  let posted: GatewayEvent[];

  before(async () => {
    server = createServer(async (req, res) => {
      const event = JSON.parse((await buffer(req)).toString());
      expect(req.headers['webhook-id']).to.equal(event.id);
      const answer = refuses(event) ? 422 : status;
      if (answer < 300) events.push(event);
      posted.push(event);
      res.writeHead(answer).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => server.close());
  beforeEach(async () => {
    events = [];
    posted = [];
    refuses = () => false;
    status = 200;
    aheadMs = 0;
    await ensureDevice(space.store, address);
  });

  async function create(settings: Partial<WebhookSettings> = {}): Promise<() => Promise<string>> {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const made = await createWebhook(space.store, 'main', {
      settings: { ...DEFAULT_WEBHOOK_SETTINGS, ...settings },
      ...{ target: { url, headers: {} }, secrets: [{ secret: makeWebhookSecret('v1') }] },
    });
    if (made === 'full') throw new Error('full');
    const attempt = { webhookId: 'evt_0', atMs: 0, tookMs: 0, status: 200, error: null, answer: '' };
    await recordAttempt(space.store, 'main', made.id, { attempt, verifiesRevision: made.revision });
    const clock = { nowMs: () => Date.now() + aheadMs, monotonicMs: () => performance.now() };
    const feed = logFeed(space.store, 'main', { clock, onGap: () => silentCounts.countGap() });
    const deps = {
      ...{ store: space.store, feed, counts: silentCounts, clock, token: 'process-1' },
      policy: { isSecure: true as const, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
      ...{ random: () => 0.5, signal: new AbortController().signal },
    };
    return async () => {
      for (const full of await findFullOutboxes(space.store, 'main')) await relayOutbox(space.store, full);
      for (;;) {
        const outcome = await deliver(deps, 'main', made.id);
        if (outcome !== 'more') return outcome;
      }
    };
  }

  async function accept(recipients: string[], kind: 'text' | 'otp' = 'text'): Promise<SendTag> {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind, content: { kind: 'text', text: 'hello' }, parts: 1, recipients, owner: 't', requestId: 'order-1' },
      ...{ nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    return parseMessageId(messageId)!.tag;
  }
  const record = (tag: SendTag, event: 'acked' | 'delivered' | 'read', from: number, to: number) =>
    recordResults(space.store, ownership, {
      ...{ tag, nowMs: Date.now() },
      events: Array.from({ length: to - from }, (_, i) => ({ recipient: from + i, part: 0, event })),
    });
  const rows = () =>
    events.filter(({ type }) => type === 'messages.updated').map(({ data }) => data.changes as ChangeData[]);

  it('gathers what happens to lists, in requests of 500 changes, for as long as the endpoint wants', async () => {
    const run = await create();
    const tag = await accept(PEOPLE);
    for (let from = 0; from < 1_100; from += 50) await record(tag, 'acked', from, from + 50);
    expect(await run()).to.equal('quiet');
    expect(rows().map((each) => each.length)).to.deep.equal([500, 500]);
    aheadMs = 29_000;
    await run();
    expect(events).to.have.length(2);
    aheadMs = 31_000;
    await run();
    expect(rows().map((each) => each.length)).to.deep.equal([500, 500, 100]);
    expect(
      rows()
        .flat()
        .map(({ index }) => index),
    ).to.deep.equal(Array.from({ length: 1_100 }, (_, i) => i));
    for (const event of events) expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
  });

  it('tells the end of a list and what came before it without waiting', async () => {
    const run = await create();
    const tag = await accept(PEOPLE.slice(0, 20));
    await record(tag, 'acked', 0, 20);
    expect(await run()).to.equal('quiet');
    expect(events.map(({ type }) => type)).to.deep.equal(['messages.updated', 'send.finished']);
  });

  it('tells one-time passwords and opt-outs at once, beside a list that is gathered', async () => {
    const run = await create();
    const tag = await accept(PEOPLE);
    await record(tag, 'acked', 0, 50);
    const otp = await accept(PEOPLE.slice(0, 1), 'otp');
    await record(otp, 'acked', 0, 1);
    await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    await run();
    expect(events.map(({ type }) => type)).to.include.members(['otp.sent', 'optout.added']);
    expect(rows()).to.deep.equal([]);
  });

  it('goes on after an outage where it was, and tells each change once', async () => {
    const run = await create({ gatherSeconds: 1 });
    const tag = await accept(PEOPLE.slice(0, 100));
    await record(tag, 'acked', 0, 60);
    status = 500;
    aheadMs = 2_000;
    expect(await run()).to.equal('waiting');
    await record(tag, 'read', 0, 60);
    status = 200;
    aheadMs = 20_000;
    await run();
    const told = rows().flat();
    expect(told).to.have.length(120);
    expect(new Set(told.map(({ id }) => id)).size).to.equal(120);
    expect(told.slice(60).every((row) => row.status === 'read')).to.equal(true);
  });

  it('tells other endpoints of one that is disabled, and not itself', async () => {
    const gone = await create({ description: 'gone' });
    await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    status = 410;
    await gone();
    const [{ id } = { id: '' }] = await listWebhooks(space.store, 'main');
    const other = await create();
    await resumeWebhook(space.store, 'main', id);
    status = 200;
    await addOptOuts(space.store, 'main', { numbers: ['447700900002'], source: 'api', atMs: Date.now() });
    await gone();
    expect(events.map(({ type }) => type)).to.deep.equal(['optout.added', 'optout.added']);
    status = 410;
    await addOptOuts(space.store, 'main', { numbers: ['447700900003'], source: 'api', atMs: Date.now() });
    await gone();
    status = 200;
    events = [];
    await other();
    const told = events.find(({ type }) => type === 'webhook.disabled');
    expect(told?.data).to.include({ webhookId: id, lastStatus: 410 });
  });

  it('tells of a gap where the log has left the endpoint behind, and goes on after it', async () => {
    const run = await create();
    const optOut = (phone: string) =>
      addOptOuts(space.store, 'main', { numbers: [phone], source: 'api', atMs: Date.now() });
    for (const phone of ['447700900001', '447700900002']) await optOut(phone);
    await boundLog(space.store, 'main', 1);
    await run();
    const gaps = events.filter(({ type }) => type === 'events.gap');
    expect(gaps.map(({ data }) => data.missing)).to.deep.equal([null, null]);
    for (const event of events) expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
    expect(new Set(gaps.map(({ id }) => id)).size, 'one of each lane').to.equal(2);
    expect(events.flatMap(({ data }) => data.phones ?? [])).to.deep.equal(['447700900002']);
    await optOut('447700900003');
    await run();
    expect(events).to.have.length(4);
  });

  it('puts aside what is refused, and all that follows for that person, until it is taken', async () => {
    const run = await create({ gatherSeconds: 1, types: ['messages.updated', 'send.finished', 'optout.added'] });
    const tag = await accept(PEOPLE.slice(0, 40));
    const another = await accept(PEOPLE.slice(10, 30));
    refuses = ({ data }) => JSON.stringify(data).includes(PEOPLE[17]!);
    for (let from = 0; from < 40; from += 20) await record(tag, 'acked', from, from + 20);
    const wait = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 5) {
        aheadMs += 5_000;
        await run();
      }
    };
    await wait(30);
    await record(tag, 'read', 0, 40);
    await record(another, 'acked', 0, 20);
    await wait(60);
    const told = () => rows().flat();
    const of = (person: string) => told().flatMap(({ to, kind, status }) => (to === person ? `${kind} ${status}` : []));
    expect(told()).to.have.length(97);
    expect(of(PEOPLE[17]!)).to.deep.equal([]);
    expect(of(PEOPLE[18]!)).to.deep.equal(['text sent', 'text read', 'text sent']);
    expect(JSON.stringify(events)).to.include('send.finished');
    refuses = () => false;
    await wait(600);
    expect(told()).to.have.length(100);
    expect(of(PEOPLE[17]!)).to.deep.equal(['text sent', 'text read', 'text sent']);
    expect(new Set(told().map(({ id }) => id)).size).to.equal(100);
    const bodies = new Map(posted.map((event) => [event.id, JSON.stringify(event)]));
    for (const event of posted) {
      expect(JSON.stringify(event)).to.equal(bodies.get(event.id));
      expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
    }
    const { redis } = space.store;
    for (const key of await redis.keys(`${space.prefix}:*webhook*`)) {
      const dump = (await redis.type(key)) === 'hash' ? JSON.stringify(await redis.hgetall(key)) : key;
      expect(dump, key).not.to.include(PEOPLE[17]);
    }
  });

  it('hides what the endpoint does not want to know, and tells only the types and devices it wants', async () => {
    const run = await create({ numbers: 'masked', types: ['message.sent', 'optout.added'] });
    const elsewhere = await create({ devices: ['another'] });
    const tag = await accept(PEOPLE.slice(0, 2));
    await record(tag, 'acked', 0, 2);
    await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    await run();
    expect(events.map(({ type }) => type).sort()).to.deep.equal(['message.sent', 'message.sent', 'optout.added']);
    expect(JSON.stringify(events)).not.to.include(PEOPLE[0]).and.not.to.include('447700900001');
    events = [];
    expect(await elsewhere()).to.equal('quiet');
    expect(events).to.deep.equal([]);
  });
});
