import { EventEmitter } from 'node:events';
import { CatchUp, type Timers } from '@gateway/messenger/session/catch-up';
import type { BaileysSocket, BinaryNode } from '@gateway/messenger/socket/baileys';
import { sleep } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { type Device, makeNumbers, useSessions } from './support/session-fixture.js';

const logger = { warn: () => {}, info: () => {}, debug: () => {} } as never;
const child = (tag: string, attrs: BinaryNode['attrs'] = {}): BinaryNode => ({
  tag: 'ib',
  attrs: {},
  content: [{ tag, attrs }],
});

/** Time that passes when it is told to. */
class ManualTimers implements Timers {
  private now = 0;
  private readonly waiting = new Set<{ atMs: number; work: () => void }>();

  nowMs(): number {
    return this.now;
  }

  after(ms: number, work: () => void): () => void {
    const entry = { atMs: this.now + ms, work };
    this.waiting.add(entry);
    return () => void this.waiting.delete(entry);
  }

  pass(ms: number): void {
    const untilMs = this.now + ms;
    for (let next = this.next(untilMs); next; next = this.next(untilMs)) {
      this.waiting.delete(next);
      this.now = next.atMs;
      next.work();
    }
    this.now = untilMs;
  }

  private next(untilMs: number) {
    return [...this.waiting].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
  }
}

describe('catching up', () => {
  let ws: EventEmitter;
  let timers: ManualTimers;
  let requests: number[];
  /** How often the network was told again that the device listens. */
  let listensAgain: number;
  let taken: string[];
  /** What the library does with a message. */
  let take: () => Promise<void>;
  let ending: AbortController;
  let catchUp: CatchUp;
  let isDone: boolean;

  beforeEach(() => {
    [ws, timers, ending] = [new EventEmitter(), new ManualTimers(), new AbortController()];
    [requests, taken, isDone, listensAgain] = [[], [], false, 0];
    take = async () => {};
    ws.on('CB:message', async ({ attrs }: BinaryNode) => {
      await take();
      taken.push(attrs.id!);
    });
    const sendNode = async ({ content }: BinaryNode) => {
      const [{ tag, attrs }] = content as [BinaryNode];
      if (tag === 'active') listensAgain++;
      else requests.push(Number(attrs.count));
    };
    const sock = { ws, sendNode, generateMessageTag: () => 'tag' } as unknown as BaileysSocket;
    catchUp = new CatchUp({ sock, logger, signal: ending.signal, timers });
    void catchUp.done.then(() => {
      isDone = true;
    });
    ws.emit('CB:success');
  });

  const come = (id: string, attrs: BinaryNode['attrs'] = { offline: '0' }) => {
    const node = { tag: 'message', attrs: { id, from: 'x', ...attrs } };
    if (attrs.offline) ws.emit('CB:message,offline', node);
    ws.emit('CB:message', node);
  };
  const announce = (count: number) =>
    ws.emit('CB:ib,,offline_preview', child('offline_preview', { count: String(count) }));
  const end = () => ws.emit('CB:ib,,offline', child('offline', { count: '0' }));
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('asks for batches of 200 until the end mark, not more often than every 120 ms', async () => {
    announce(1_000);
    expect(requests).to.deep.equal([200]);
    for (let i = 0; i < 30; i++) {
      come(`m${i}`);
      await turn();
      timers.pass(10);
    }
    expect(requests).to.deep.equal([200, 200, 200]);
    end();
    await catchUp.done;
    timers.pass(60_000);
    expect(requests).to.have.length(3);
  });

  it('asks now and then although nothing comes', () => {
    announce(1_000);
    timers.pass(1_900);
    expect(requests).to.have.length(1);
    timers.pass(3_000);
    expect(requests).to.have.length(3);
  });

  it('tells the network again that it listens, ever less often, until something comes', () => {
    timers.pass(9_000);
    expect(listensAgain).to.equal(0);
    timers.pass(141_000);
    expect(listensAgain).to.equal(4);
    announce(0);
    timers.pass(3_600_000);
    expect(listensAgain).to.equal(4);
  });

  it('tells the network nothing again when what is new has come, or the session is over', () => {
    come('new', {});
    timers.pass(3_600_000);
    expect(listensAgain).to.equal(0);
  });

  it('asks for nothing when nothing waits', () => {
    announce(0);
    timers.pass(60_000);
    expect(requests).to.deep.equal([]);
  });

  it('leaves the rest at the network while 200 wait here', async () => {
    const taking = defer<void>();
    take = () => taking.promise;
    announce(1_000);
    for (let i = 0; i < 200; i++) come(`m${i}`);
    timers.pass(1_000);
    expect(requests).to.have.length(1);
    taking.resolve();
    await eventually(() => taken.length === 200);
    timers.pass(200);
    expect(requests).to.have.length(2);
  });

  it('is not done at the end mark, but when all messages before it are dealt with', async () => {
    const taking = defer<void>();
    take = () => taking.promise;
    come('one');
    come('two');
    end();
    await turn();
    expect([isDone, catchUp.state]).to.deep.equal([false, 'coming']);
    taking.resolve();
    await catchUp.done;
    expect(taken).to.deep.equal(['one', 'two']);
    expect(catchUp.state).to.equal('heard');
  });

  it('takes what is new behind all of the backlog, and does not wait for what comes after its end', async () => {
    const taking = defer<void>();
    take = () => (taken.length < 3 ? Promise.resolve() : taking.promise);
    come('of yesterday');
    come('STOP', {});
    come('of this morning');
    await eventually(() => taken.length === 2);
    end();
    come('new', {});
    await catchUp.done;
    expect(taken).to.deep.equal(['of yesterday', 'of this morning', 'STOP']);
    taking.resolve();
    await eventually(() => taken.length === 4);
  });

  it('takes what is new at once where there is no backlog, and after silence where its end mark never comes', async () => {
    come('before anything is announced', {});
    await eventually(() => taken.length === 1);
    announce(0);
    come('none was announced', {});
    await eventually(() => taken.length === 2);
    announce(5);
    come('new', {});
    timers.pass(59_900);
    await turn();
    expect(taken).to.have.length(2);
    timers.pass(100);
    await eventually(() => taken.length === 3);
  });

  it('is done after silence when what waited for the end mark is dealt with', async () => {
    const taking = defer<void>();
    take = () => (taken.length < 1 ? Promise.resolve() : taking.promise);
    come('of yesterday');
    come('STOP', {});
    await eventually(() => taken.length === 1);
    timers.pass(60_000);
    await turn();
    expect([isDone, taken]).to.deep.equal([false, ['of yesterday']]);
    taking.resolve();
    await catchUp.done;
    expect(taken).to.deep.equal(['of yesterday', 'STOP']);
  });

  it('keeps 200 new messages waiting for the end of the backlog at most', async () => {
    announce(5);
    for (let i = 0; i < 200; i++) come(`new${i}`, {});
    await eventually(() => taken.length === 200);
  });

  it('goes on when a message fails', async () => {
    take = () => Promise.reject(new Error('of the library'));
    come('one');
    end();
    await catchUp.done;
  });

  it('is done when the end mark never comes: 60 s after the last of the backlog', async () => {
    timers.pass(50_000);
    come('one');
    await turn();
    timers.pass(59_900);
    await turn();
    expect(isDone).to.equal(false);
    timers.pass(100);
    await catchUp.done;
    expect(catchUp.state, 'and says so').to.equal('noEndMark');
    end();
    expect(catchUp.state, 'when it comes late').to.equal('heard');
  });

  it('asks on when something comes after that, and rests when nothing does', async () => {
    announce(1_000);
    timers.pass(61_000);
    await catchUp.done;
    const before = requests.length;
    timers.pass(60_000);
    expect(requests).to.have.length(before);
    come('late');
    timers.pass(200);
    expect(requests).to.have.length(before + 1);
  });

  it('takes nothing more once the session has ended, and is never done then', async () => {
    ending.abort();
    come('one');
    end();
    timers.pass(60_000);
    await turn();
    expect([isDone, taken]).to.deep.equal([false, []]);
  });
});

describe('a session that was away, on the network of 2026', () => {
  const sessions = useSessions({ profile: '2026', statusAckMs: 500 });
  let device: Device;
  before(async () => {
    device = await sessions.link();
  });

  it('gets what waited also where the network refused to hear that it listens', async () => {
    const [talker] = makeNumbers(1) as [string];
    await sessions.admin('POST', 'faults', { on: 'iq', match: { xmlns: 'passive' }, do: { error: 503 }, count: 1 });
    await sessions.admin('POST', `phones/${talker}/messages`, { to: device.phone, text: 'STOP' });
    const written: string[] = [];
    const test = await sessions.open(device.keyStore);
    Object.assign(test.handlers, { message: async ({ phone }: { phone: string }) => void written.push(phone) });
    await test.session.caughtUp;
    expect(written).to.deep.equal([talker]);
    await test.session.close();
  });

  it('has reported everything that waited when it says that it has caught up', async () => {
    const friends = makeNumbers(12);
    const [talker] = makeNumbers(1) as [string];
    // What a client that cannot read it may not refuse: all behind it would be withheld.
    for (const stanza of ['message', 'status']) {
      await sessions.admin('POST', `phones/${talker}/status`, { to: device.phone, undecryptable: true, stanza });
    }
    const hello = { to: device.phone, text: 'hello' };
    await Promise.all(Array.from({ length: 230 }, () => sessions.admin('POST', `phones/${talker}/messages`, hello)));
    for (const friend of friends) {
      await sessions.admin('POST', `phones/${friend}/messages`, { to: device.phone, text: 'STOP' });
    }
    const written: string[] = [];
    const test = await sessions.open(device.keyStore);
    Object.assign(test.handlers, {
      message: async ({ phone }: { phone: string }) => {
        await sleep(1);
        written.push(phone);
      },
    });
    await test.session.caughtUp;
    expect(new Set(written)).to.deep.equal(new Set([talker, ...friends]));
    expect(written).to.have.length(242);
  });
});
