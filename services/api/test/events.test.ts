import type { GatewayEvent } from '@gateway/contracts/events/events';
import { parseMessageId } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { addEventsMetrics } from '@gateway/events/events-metrics';
import { Relay } from '@gateway/events/relay/relay';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { gapEntry } from '@gateway/store/events/gap-entry';
import { recordResults } from '@gateway/store/sends/change-send';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { revokeApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { fillLog } from './support/attacks/fill-log.js';
import { type DeviceOwner, linkDevice } from './support/device-owner.js';
import { checkEvent } from './support/openapi-check.js';
import { BASE, startTestApi, type TestApi } from './support/test-api.js';

const PEOPLE = Array.from({ length: 30 }, (_, i) => `4477009001${String(i).padStart(2, '0')}`);

interface Page {
  events: GatewayEvent[];
  nextCursor: string;
}

describe('events for those who ask', () => {
  let space: RedisSpace;
  let api: TestApi;
  let relay: Relay;
  let owner: DeviceOwner;
  let token: string;
  beforeEach(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space);
    relay = await Relay.start({
      ...{ store: space.store, bells: space.clients.subscriber, restMs: 5, tickMs: 500 },
      logger: createLogger({ service: 'events', level: 'error' }),
      metrics: addEventsMetrics(createMetrics()),
    });
    owner = await linkDevice(space.store);
    token = (await api.newToken({ scopes: ['events'] })).value;
  });
  afterEach(async () => {
    await relay.stop();
    await api.close();
    await space.close();
  });

  async function ask(query: string, by = token): Promise<Page> {
    const { status, body } = await api.call('GET', `/events${query}`, { token: by });
    expect(status, JSON.stringify(body)).to.equal(200);
    const page = body as unknown as Page;
    for (const event of page.events) checkEvent(event);
    return page;
  }
  async function send(to: readonly string[] = PEOPLE): Promise<string> {
    const { body } = await api.call('POST', '/send', { json: { to, text: 'hello' } });
    return String(body.messageId);
  }
  const record = (messageId: string, event: 'acked' | 'delivered' | 'read', people = [...PEOPLE.keys()]) =>
    recordResults(space.store, owner.ownership, {
      ...{ tag: parseMessageId(messageId)!.tag, nowMs: Date.now() },
      events: people.map((recipient) => ({ recipient, part: 0, event })),
    });
  /** All that comes, page by page, until so many changes are there. */
  async function collect(from: string, { wanted, query = '' }: { wanted: number; query?: string }) {
    const rows: { index: number; status: string }[] = [];
    let cursor = from;
    while (rows.length < wanted) {
      const { events, nextCursor } = await ask(`?after=${cursor}&wait=5${query}`);
      if (events.length === 0) break;
      rows.push(...events.flatMap(({ data }) => (data.changes ?? []) as { index: number; status: string }[]));
      cursor = nextCursor;
    }
    return { rows, cursor };
  }

  it('are looked through ten thousand changes a call, or people: one that finds nothing says where the next goes on', async () => {
    await fillLog(space.store, { workspace: 'main', device: 'of-lists' }, 2);
    const numbers = Array.from({ length: 2_000 }, (_, i) => String(447_700_000_000 + i));
    await addOptOuts(space.store, 'main', { numbers, source: 'api', atMs: 1_000 });
    const pages = async (types: string) => {
      const found: GatewayEvent[][] = [];
      for (let cursor = '0', isLast = false; !isLast; ) {
        const { events, nextCursor } = await ask(`?after=${cursor}&types=${types}&limit=1000`);
        found.push(events);
        [cursor, isLast] = [nextCursor, nextCursor === cursor];
      }
      return found;
    };
    const unread = await pages('message.read');
    expect(unread.flat()).to.deep.equal([]);
    expect(unread.length).to.be.within(3, 5);
    const added = (await pages('optout.added')).filter(({ length }) => length > 0);
    expect(added.map((events) => events.map(({ data }) => (data.phones as string[]).length))).to.deep.equal([
      [1_000],
      [1_000],
    ]);
  });

  it('begin with the first call, and come while one waits', async () => {
    const { events, nextCursor } = await ask('');
    expect(events).to.deep.equal([]);
    const messageId = await send();
    const waiting = ask(`?after=${nextCursor}&wait=25&types=send.finished,messages.updated`);
    await record(messageId, 'acked', [0]);
    expect((await waiting).events[0]!.data).to.deep.nested.include({ 'changes[0].status': 'sent' });
  });

  it('are told each once and in order, however small the pages', async () => {
    const start = (await ask('')).nextCursor;
    const messageId = await send();
    for (const event of ['acked', 'delivered', 'read'] as const) await record(messageId, event);
    const whole = await collect(start, { wanted: 3 * PEOPLE.length });
    expect(whole.rows).to.have.length(3 * PEOPLE.length);
    const small = await collect(start, { wanted: 3 * PEOPLE.length, query: '&limit=1' });
    expect(small.rows).to.deep.equal(whole.rows);
    for (const index of PEOPLE.keys()) {
      const statuses = whole.rows.filter((row) => row.index === index).map(({ status }) => status);
      expect(statuses).to.deep.equal(['sent', 'delivered', 'read']);
    }
    const each: string[] = [];
    for (let cursor = start; each.length < PEOPLE.length; ) {
      const page = await ask(`?after=${cursor}&types=message.delivered&limit=7`);
      expect(page.events.length).to.be.within(1, 7);
      each.push(...page.events.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(new Set(each).size).to.equal(PEOPLE.length);
  });

  it('are all told, also when other types are asked for in the middle of what happened at once', async () => {
    const start = (await ask('')).nextCursor;
    const messageId = await send();
    await record(messageId, 'acked');
    await record(messageId, 'delivered');
    await collect(start, { wanted: 2 * PEOPLE.length });
    const { events, nextCursor } = await ask(`?after=${start}&types=message.sent&limit=7`);
    expect(events).to.have.length(7);
    const { rows } = await collect(nextCursor, { wanted: 2 * PEOPLE.length, query: '&types=messages.updated' });
    expect(rows.filter(({ status }) => status === 'delivered')).to.have.length(PEOPLE.length);
    // Those who had seven of them one by one are told the thirty together.
    expect(rows.filter(({ status }) => status === 'sent')).to.have.length(PEOPLE.length);
    // A log full of what one does not want is looked through.
    expect((await ask(`?after=${start}&types=device.restricted`)).events).to.deep.equal([]);
  });

  it('are for tokens with that scope, and those of a device see what is its own', async () => {
    const start = (await ask('')).nextCursor;
    expect((await api.call('GET', '/events')).status).to.equal(403);
    const other = (await api.newToken({ scopes: ['events'], device: 'another' })).value;
    await record(await send(), 'acked');
    expect((await collect(start, { wanted: PEOPLE.length })).rows).to.have.length(PEOPLE.length);
    expect((await ask(`?after=${start}`, other)).events).to.deep.equal([]);
  });

  it('are shown one by one, as they were told, to those who may see them', async () => {
    const start = (await ask('')).nextCursor;
    await record(await send(), 'acked');
    const { rows } = await collect(start, { wanted: PEOPLE.length });
    const [told] = (await ask(`?after=${start}&types=message.sent&limit=1`)).events;
    const { status, body } = await api.call('GET', `/events/${(rows[0] as unknown as { id: string }).id}`, { token });
    expect([status, body]).to.deep.equal([200, { success: true, event: told }]);
    const other = (await api.newToken({ scopes: ['events'], device: 'another' })).value;
    expect((await api.call('GET', `/events/${told!.id}`, { token: other })).status).to.equal(404);
    expect((await api.call('GET', `/events/${told!.id}`)).status, 'another scope').to.equal(403);
    expect((await api.call('GET', `/events/${told!.id}x`, { token })).status).to.equal(404);
    const gone = await api.call('GET', '/events/evt_main_1_connected', { token });
    expect(gone.status).to.equal(410);
    expect(gone.body).to.have.nested.property('details[0].path').that.deep.equals(['id']);
  });

  it('that are gone are a 410 with the oldest cursor, and what is no cursor or type is a 400', async () => {
    await ask('');
    const { status, body } = await api.call('GET', '/events?after=1-1', { token });
    expect(status).to.equal(410);
    expect(body.details).to.deep.equal([{ path: ['after'], message: `the oldest cursor is ${body.oldestCursor}` }]);
    expect((await ask(`?after=${body.oldestCursor}`)).events).to.deep.equal([]);
    for (const query of ['after=x', 'types=message.received,nonsense', 'wait=26', 'limit=0']) {
      const refused = await api.call('GET', `/events?${query}`, { token });
      expect(refused.status, query).to.equal(400);
      expect(JSON.stringify(refused.body.details), 'repeats no value').not.to.match(/nonsense|message\.received/);
    }
  });

  it('are not waited for behind a cursor that is ahead of all that can have been told: a 410 says where to begin', async () => {
    await ask('');
    const ahead = Date.now() + 3_600_000;
    const { status, body } = await api.call('GET', `/events?after=${ahead}-0`, { token });
    expect(status, JSON.stringify(body)).to.equal(410);
    expect((await ask(`?after=${body.oldestCursor}`)).events).to.deep.equal([]);
    const headers = { authorization: `Bearer ${token}`, 'last-event-id': `${ahead}-0` };
    expect((await fetch(`${api.origin}${BASE}/events/stream`, { headers })).status).to.equal(410);
    // As after the clock of Redis was set back.
    const { eventLog } = workspaceKeys(space.store.space, 'main');
    await space.store.redis.xadd(eventLog, `${ahead}-5`, 'e', gapEntry(1));
    expect((await ask(`?after=${ahead}-0`)).events).to.have.length(1);
  });

  it('are not passed over behind a cursor that is ahead of the log by less than clocks differ', async () => {
    await ask('');
    await addOptOuts(space.store, 'main', { numbers: [PEOPLE[0]!], source: 'api', atMs: 1_000 });
    const ahead = await api.call('GET', `/events?after=${Date.now() + 5_000}-0`, { token });
    expect(ahead.status).to.equal(410);
    const { nextCursor } = await ask('?after=0');
    expect((await ask(`?after=${nextCursor}`)).events).to.deep.equal([]);
  });

  it('are told once though fewer types are asked for in the middle of what happened at once', async () => {
    await ask('');
    const messageId = await send(PEOPLE.slice(0, 2));
    const events = [0, 1].map((recipient) => ({ recipient, part: 0, event: 'failed' as const, errorCode: 1 }));
    const { tag } = parseMessageId(messageId)!;
    await recordResults(space.store, owner.ownership, { tag, nowMs: Date.now(), events });
    const types = 'types=message.failed,send.finished';
    const all = await eventually(async () => {
      const page = await ask(`?after=0&${types}`);
      return page.events.length === 3 && page.events;
    });
    for (let taken = 1, after = '0'; taken <= all.length; taken++) {
      const page = await ask(`?after=${after}&limit=1&${types}`);
      after = page.nextCursor;
      const left = (await ask(`?after=${after}&types=message.failed`)).events.map(({ id }) => id);
      const expected = all.slice(taken).filter(({ type }) => type === 'message.failed');
      expect(left, `behind ${taken}`).to.deep.equal(expected.map(({ id }) => id));
    }
  });

  it('are waited for by five calls of a token at a time, and by none for longer than it wants', async () => {
    const { nextCursor } = await ask('');
    const gone = new AbortController();
    const waits = Array.from({ length: 6 }, () =>
      api.call('GET', `/events?after=${nextCursor}&wait=25`, { token, signal: gone.signal }),
    );
    expect((await Promise.race(waits)).body).to.deep.include({ events: [] });
    gone.abort();
    const ended = await Promise.allSettled(waits);
    expect(ended.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
    expect((await ask(`?after=${nextCursor}&wait=1`)).events).to.deep.equal([]);
  });

  /** Frames of a stream, until so many have come; then it is left. */
  async function follow(query: string, { wanted, headers = {} }: { wanted: number; headers?: Record<string, string> }) {
    const gone = new AbortController();
    const answer = await fetch(`${api.origin}${BASE}/events/stream${query}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      signal: gone.signal,
    });
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'text/event-stream']);
    let text = '';
    const frames = () => text.split('\n\n').filter((frame) => frame.startsWith('id: '));
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (frames().length >= wanted) break;
    }
    gone.abort();
    return frames().map((frame) => {
      const [id, type, data] = frame.split('\n').map((line) => line.slice(line.indexOf(': ') + 2)) as [
        string,
        string,
        string,
      ];
      return { id, type, event: JSON.parse(data) as GatewayEvent };
    });
  }

  it('come as a stream, which goes on behind the last one that was heard', async () => {
    const start = (await ask('')).nextCursor;
    const messageId = await send();
    const following = follow(`?after=${start}&types=message.sent,message.read`, { wanted: 4 });
    for (let index = 0; index < 4; index++) await record(messageId, 'acked', [index]);
    const first = await following;
    expect(first.map(({ type }) => type)).to.deep.equal(Array(4).fill('message.sent'));
    await record(messageId, 'read', [0, 1]);
    const headers = { 'last-event-id': first[2]!.id };
    const rest = await follow('?types=message.sent,message.read', { wanted: 3, headers });
    expect(rest.map(({ event }) => [event.type, event.data.index])).to.deep.equal([
      ['message.sent', 3],
      ['message.read', 0],
      ['message.read', 1],
    ]);
    expect(rest[0]!.event).to.deep.equal(first[3]!.event);
    // By the standard of server-sent events, of a client that has heard none.
    const [again] = await follow(`?after=${start}&types=message.sent`, { wanted: 1, headers: { 'last-event-id': '' } });
    expect(again).to.deep.equal(first[0]);
  });

  it('come on five streams of a token at a time, and on none of a revoked one', async () => {
    await ask('');
    const gone = new AbortController();
    const open = () =>
      fetch(`${api.origin}${BASE}/events/stream`, {
        headers: { authorization: `Bearer ${token}` },
        signal: gone.signal,
      });
    const streams = await Promise.all(Array.from({ length: 6 }, open));
    expect(streams.map(({ status }) => status).sort()).to.deep.equal([200, 200, 200, 200, 200, 429]);
    expect(await api.metrics()).to.match(/^gateway_event_waits 5$/m);
    gone.abort();
    await eventually(async () => /^gateway_event_waits 0$/m.test(await api.metrics()));
    await eventually(async () => (await api.call('GET', '/events/stream?after=x', { token })).status === 400);
    const { headers: head } = await fetch(`${api.origin}${BASE}/events/stream`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(head.get('content-type')).to.equal('text/event-stream');
    const headers = { 'last-event-id': 'x' };
    expect((await api.call('GET', '/events/stream', { token, headers })).status).to.equal(400);
    await revokeApiToken(space.store, 'main', token.split('_')[1]!);
    await eventually(async () => (await api.call('GET', '/events/stream?after=x', { token })).status === 401);
  });
});
