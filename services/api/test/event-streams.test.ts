import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { buildOpenApi } from '@gateway/api/documents/build-openapi';
import { BASE_PATH, ENDPOINTS } from '@gateway/api/endpoints';
import { sayCursor } from '@gateway/contracts/events/cursor';
import { systemClock } from '@gateway/runtime/clock';
import { openEvents } from '@gateway/store/events/open-events';
import { endOfLog } from '@gateway/store/events/read-log';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { addOptOuts, removeOptOut } from '@gateway/store/workspace/opt-outs';
import { revokeApiToken, setApiTokenScopes } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { expect } from 'chai';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const EVENT_SOURCE = fileURLToPath(new URL('fixtures/event-source.js', import.meta.url));

describe('streams of events', () => {
  /** How much later it is each time that someone looks. */
  let leapMs = 0;
  let aheadMs = 0;
  const clock = {
    nowMs: () => systemClock.nowMs(),
    monotonicMs: () => {
      aheadMs += leapMs;
      return systemClock.monotonicMs() + aheadMs;
    },
  };
  const { space, api, owner } = useTestApi({ linked: true, unreadMs: 300, clock });
  let token: string;
  beforeEach(async () => {
    leapMs = 0;
    token = (await api.newToken({ scopes: ['events'] })).value;
    await openEvents(space.store, 'main');
  });

  const tell = (n: number) =>
    addOptOuts(space.store, 'main', { numbers: [`44770090${1000 + n}`], source: 'api', atMs: 1_000 });
  /** What it hears, and whether it has ended. */
  async function open(query = '', by = token) {
    const gone = new AbortController();
    const { status, body } = await fetch(`${api.origin}${BASE}/events/stream${query}`, {
      headers: { authorization: `Bearer ${by}` },
      signal: gone.signal,
    });
    const stream = { status, heard: '', isOver: false, leave: () => gone.abort() };
    void (async () => {
      for await (const piece of body!.pipeThrough(new TextDecoderStream())) stream.heard += piece;
      stream.isOver = true;
    })().catch(() => {});
    return stream;
  }

  it('tell nothing that happens after their token was revoked, and end with it', async () => {
    const stream = await open();
    await tell(1);
    await eventually(() => stream.heard.includes('447700901001'));
    await revokeApiToken(space.store, 'main', token.split('_')[1]!);
    await tell(2);
    await eventually(() => stream.isOver);
    expect(stream.heard).not.to.include('447700901002');
  });

  it('ask proxies to hold nothing back, and have the headers that the document promises', async () => {
    const authorization = `Bearer ${token}`;
    const { headers } = await fetch(`${api.origin}${BASE}/events/stream`, {
      method: 'HEAD',
      headers: { authorization },
    });
    expect(headers.get('x-accel-buffering')).to.equal('no');
    const promised = buildOpenApi(ENDPOINTS, BASE_PATH).paths['/events/stream']!.get!.responses[200]!.headers;
    expect(Object.keys(promised)).to.include('X-Accel-Buffering');
    for (const name of Object.keys(promised)) expect(headers.has(name), name).to.equal(true);
  });

  it('end when their token may read events no more', async () => {
    const stream = await open();
    await tell(1);
    await eventually(() => stream.heard.includes('447700901001'));
    await setApiTokenScopes(space.store, 'main', token.split('_')[1]!, ['read']);
    await tell(2);
    await eventually(() => stream.isOver);
    expect(stream.heard).not.to.include('447700901002');
  });

  for (const [what, take, status] of [
    ['revoked', () => revokeApiToken(space.store, 'main', token.split('_')[1]!), 401],
    ['taken the scope', () => setApiTokenScopes(space.store, 'main', token.split('_')[1]!, ['read']), 403],
  ] as const) {
    it(`are told to no call that waits for them with a token that is ${what} meanwhile`, async () => {
      const { nextCursor } = (await api.call('GET', '/events', { token })).body;
      const waiting = api.call('GET', `/events?wait=25&after=${nextCursor}`, { token });
      await eventually(async () => /^gateway_event_waits 1$/m.test(await api.metrics()));
      await take();
      leapMs = 1_100;
      await tell(1);
      expect((await waiting).status).to.equal(status);
    });
  }

  it('end for clients that take 30 seconds for an event, which go on from there', async () => {
    for (let n = 0; n < 5; n++) await tell(n);
    leapMs = 31_000;
    const stream = await open('?after=0');
    await eventually(() => stream.isOver);
    leapMs = 0;
    const ids = [...stream.heard.matchAll(/^id: (.*)$/gm)].map(([, id]) => id!);
    expect(ids).to.have.length(1);
    const rest = await open(`?after=${ids[0]}`);
    await eventually(() => rest.heard.match(/^event:/gm)?.length === 4);
    rest.leave();
  });

  it('are read anew for clients that take long: a person may have been forgotten meanwhile', async () => {
    const after = sayCursor(await endOfLog(space.store, 'main'));
    for (let n = 0; n < 5; n++) await tell(n);
    const { redis } = api.store;
    const read = redis.xrangeBuffer.bind(redis);
    let reads = 0;
    redis.xrangeBuffer = ((...args: Parameters<typeof read>) => {
      reads++;
      return read(...args);
    }) as typeof redis.xrangeBuffer;
    leapMs = 4_000;
    const stream = await open(`?after=${after}`);
    const heard = () => [...stream.heard.matchAll(/44770090100\d/g)].map(([number]) => number);
    await eventually(() => heard().length >= 5);
    stream.leave();
    redis.xrangeBuffer = read;
    expect(heard()).to.deep.equal([0, 1, 2, 3, 4].map((n) => `44770090100${n}`));
    expect(reads, 'one of each row').to.be.at.least(5);
  });

  it('say at once where they begin: who comes again before anything was told misses nothing in between', async () => {
    const first = await open('?types=optout.added');
    // After ten seconds it would say so in any case.
    await eventually(() => /^id: .*\nevent: cursor$/m.test(first.heard), { timeoutMs: 8_000 });
    first.leave();
    await tell(1);
    const [, cursor] = /^id: (.*)$/m.exec(first.heard)!;
    const again = await open(`?types=optout.added&after=${cursor}`);
    await eventually(() => again.heard.includes('447700901001'));
    again.leave();
  });

  it('say how far they have come where nothing is told: a browser that connects again goes on from there', async () => {
    const asked: (string | undefined)[] = [];
    let cut = () => {};
    const proxy = createServer((incoming, reply) => {
      asked.push(incoming.headers['last-event-id'] as string | undefined);
      const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
      const outgoing = request(`${api.origin}${incoming.url}`, { headers }, (answer) => {
        reply.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(reply);
      });
      cut = () => {
        outgoing.destroy();
        reply.end();
      };
      outgoing.on('error', () => {}).end();
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${BASE}/events/stream?types=optout.removed`;
    const heard: { name: string; data: string }[] = [];
    const browser = spawn(process.execPath, ['--experimental-eventsource', EVENT_SOURCE, url, 'optout.removed'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    createInterface(browser.stdout).on('line', (line) => heard.push(JSON.parse(line)));
    await eventually(() => asked.length === 1);
    await tell(1);
    const { entry } = await endOfLog(space.store, 'main');
    leapMs = 11_000;
    // By then it has said so.
    const other = await open('?types=optout.removed');
    await eventually(() => other.heard.includes(`id: ${entry}\nevent: cursor\ndata: {}\n\n`));
    await eventually(() => other.heard.includes(': still here'));
    await eventually(async () => {
      const times = asked.length;
      cut();
      await eventually(() => asked.length > times);
      return asked.at(-1) === entry;
    });
    leapMs = 0;
    await removeOptOut(space.store, 'main', '447700901001');
    await eventually(() => heard.length > 0);
    expect(heard.map(({ name, data }) => [name, JSON.parse(data).type])).to.deep.equal([
      ['optout.removed', 'optout.removed'],
    ]);
    browser.stdin.end();
    await once(browser, 'exit');
    other.leave();
    cut();
    proxy.close();
  });

  it('give back the places of clients that read nothing', async () => {
    const text = '字'.repeat(65_536);
    for (let n = 0; n < 40; n++) {
      await recordReceived(space.store, owner.ownership, {
        message: { platformId: `3A${n}`, jid: 'j', phone: '447700900124', text },
        nowMs: Date.now(),
      });
    }
    for (const full of await findFullOutboxes(space.store, 'main')) await relayOutbox(space.store, full);
    const socket = connect(api.port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    socket.write(`GET ${BASE}/events/stream?after=0 HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    // It begins to come, and is left where it is.
    await once(socket, 'readable');
    const others = await Promise.all(Array.from({ length: 4 }, () => open()));
    expect((await open()).status).to.equal(429);
    await eventually(async () => (await open()).status === 200);
    for (const { leave } of others) leave();
    socket.destroy();
  });

  it('are many in a process without a word', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    const tokens = await Promise.all(Array.from({ length: 6 }, () => api.newToken({ scopes: ['events'] })));
    const streams = await Promise.all(tokens.flatMap(({ value }) => Array.from({ length: 5 }, () => open('', value))));
    await tell(1);
    await eventually(() => streams.every(({ heard }) => heard.includes('447700901001')));
    for (const { leave } of streams) leave();
    process.off('warning', note);
    expect(warnings).to.deep.equal([]);
  });
});
