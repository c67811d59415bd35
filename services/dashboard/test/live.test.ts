import { connect } from 'node:net';
import type { DeviceView, TokenView } from '@gateway/contracts/console/views';
import type { Doorbell } from '@gateway/contracts/doorbell';
import { makeAttemptId } from '@gateway/contracts/ids';
import { consoleKeys } from '@gateway/contracts/redis-keys';
import { Feed, type Follower } from '@gateway/dashboard/live/feed';
import { Heartbeat, type Stream } from '@gateway/dashboard/live/heartbeat';
import type { Topic } from '@gateway/dashboard/live/topic';
import { sleep } from '@gateway/runtime/clock';
import { requestLink } from '@gateway/store/devices/device-state';
import { findApiToken, recordTokenUse } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { ACCOUNT, type DeviceOwner, ownDevice } from '../../api/test/support/device-owner.js';
import { type LiveStream, openStream } from './support/live-stream.js';
import { Browser, startTestDashboard, useTestDashboard } from './support/test-dashboard.js';

describe('the live streams of the console', () => {
  const stage = useTestDashboard();
  const open: LiveStream[] = [];
  let admin: Browser;
  let viewer: Browser;
  before(async () => {
    [admin, viewer] = [await stage.dashboard.signIn(), await stage.dashboard.signIn('viewer')];
  });
  afterEach(() => {
    for (const stream of open.splice(0)) stream.close();
  });

  async function follow(browser: Browser, topics: string): Promise<LiveStream> {
    const stream = await openStream(browser, topics);
    open.push(stream);
    return stream;
  }

  /** A device whose account is being linked, by a process that shows codes. */
  async function linking(device: string): Promise<DeviceOwner> {
    const address = { workspace: 'main', device };
    const owner = await ownDevice(stage.space.store, address);
    await requestLink(stage.space.store, address, { attemptId: makeAttemptId(), method: 'qrCode', forceNew: false });
    return owner;
  }

  it('tell the state of a device, and each code as soon as there is another', async () => {
    const owner = await linking('qr');
    const stream = await follow(admin, 'device.qr');
    await stream.wait<DeviceView>('device.qr', ({ status }) => status === 'connecting');
    for (const code of ['first code', 'second code']) {
      const expiresMs = Date.now() + 20_000;
      await owner.observe({ status: 'connecting', reason: 'linking', code, codeExpiresAtMs: expiresMs });
      const { link } = await stream.wait<DeviceView>('device.qr', (view) => view.link?.code === code);
      expect(link).to.include({ method: 'qrCode', codeExpiresAtMs: expiresMs });
    }
    await owner.observe({ status: 'connected', phone: ACCOUNT, name: 'Ada' }, 'linked');
    const view = await stream.wait<DeviceView>('device.qr', ({ status }) => status === 'connected');
    expect(view).to.include({ phone: ACCOUNT, accountName: 'Ada' }).and.not.to.have.property('link');
  });

  it('tell viewers no number and no code, though they follow the same', async () => {
    const owner = await linking('seen');
    await owner.observe({ status: 'connecting', code: 'secret', codeExpiresAtMs: Date.now() + 20_000 });
    const [seen, all] = [await follow(viewer, 'device.seen,devices'), await follow(admin, 'device.seen')];
    await all.wait<DeviceView>('device.seen', (view) => view.link?.code === 'secret');
    await seen.wait<DeviceView>('device.seen', (view) => view.link !== undefined);
    await owner.observe({ status: 'connected', phone: ACCOUNT, name: ACCOUNT }, 'linked');
    await seen.wait<DeviceView>('device.seen', ({ status }) => status === 'connected');
    await seen.wait<DeviceView[]>('devices', (views) =>
      views.some((each) => each.id === 'seen' && each.status === 'connected'),
    );
    expect(JSON.stringify(seen.events)).not.to.match(new RegExp(`secret|${ACCOUNT}`));
    expect((await viewer.get('/devices')).text).not.to.include(ACCOUNT);
    expect((await admin.get('/devices')).text).to.include(ACCOUNT);
  });

  it('show the list of devices without codes, and a new device in it', async () => {
    const stream = await follow(admin, 'devices');
    await stream.wait<DeviceView[]>('devices', () => true);
    const owner = await linking('brand-new');
    await owner.observe({ status: 'connecting', code: 'never in a list', codeExpiresAtMs: Date.now() + 20_000 });
    await stream.wait<DeviceView[]>('devices', (views) =>
      views.some(({ id, link }) => id === 'brand-new' && link !== undefined),
    );
    expect(JSON.stringify(stream.events)).not.to.include('never in a list');
  });

  it('tell when a token is used for the first time', async () => {
    const { body } = await admin.post('/tokens', { name: 'waits for its first request' });
    const topic = `token.${body.token.keyId}`;
    const stream = await follow(admin, topic);
    await stream.wait<TokenView>(topic, ({ lastUsedAtMs }) => lastUsedAtMs === undefined);
    const token = await findApiToken(stage.space.store, 'main', body.token.keyId);
    await recordTokenUse(stage.space.store, token!, Date.now());
    await stream.wait<TokenView>(topic, ({ lastUsedAtMs }) => lastUsedAtMs !== undefined);
  });

  it('are refused without a session, a role, or a topic that there is', async () => {
    const statuses = [
      await follow(new Browser(stage.dashboard.port), 'devices'),
      await follow(viewer, 'token.abc'),
      await follow(admin, 'devices,secrets'),
      await follow(admin, 'device.Not A Device'.replaceAll(' ', '%20')),
      await follow(admin, ''),
    ].map(({ status }) => status);
    expect(statuses).to.deep.equal([401, 403, 404, 404, 404]);
  });

  it('end when the session does, and when the role of its user changes', async () => {
    const { space } = stage;
    const other = await startTestDashboard(space, { beatMs: 50 });
    try {
      const [left, demoted] = [await other.signIn('operator'), await other.signIn()];
      const streams = [await openStream(left, 'devices'), await openStream(demoted, 'devices')];
      await Promise.all(streams.map((stream) => stream.wait('beat', () => true)));
      await left.post('/sign-out');
      await eventually(() => streams[0]!.hasEnded());
      expect(streams[1]!.hasEnded()).to.equal(false);
      await space.store.redis.hset(consoleKeys(space.store.space).user('admin'), 'role', 'viewer');
      await eventually(() => streams[1]!.hasEnded());
      await space.store.redis.hset(consoleKeys(space.store.space).user('admin'), 'role', 'admin');
    } finally {
      await other.close();
    }
  });

  it('that have ended are told nothing, also while their end waits behind another stream of the connection', async () => {
    const other = await startTestDashboard(stage.space, { beatMs: 50 });
    const [first, second] = [await other.signIn(), await other.signIn()];
    const socket = connect(other.port, '127.0.0.1');
    try {
      let told = '';
      socket.on('data', (piece) => {
        told += piece;
      });
      const ask = ({ cookie }: Browser) =>
        `GET /console/api/live?topics=devices HTTP/1.1\r\nHost: 127.0.0.1:${other.port}\r\nCookie: ${cookie}\r\n\r\n`;
      socket.write(ask(first) + ask(second));
      const countBeats = () => told.split('event: beat').length - 1;
      await eventually(() => countBeats() > 2);
      await second.post('/sign-out');
      const before = countBeats();
      await eventually(() => countBeats() > before + 2);
      await (await linking('told-behind')).observe({ status: 'connecting' });
      await eventually(() => told.includes('told-behind'));
      expect((await first.get('/me')).status).to.equal(200);
    } finally {
      socket.destroy();
      await other.close();
    }
  });

  it('end with the process, at once', async () => {
    const { space } = stage;
    const other = await startTestDashboard(space);
    const stream = await openStream(await other.signIn(), 'devices');
    const again = reopenFor(stream, other.port);
    await other.close();
    await eventually(() => stream.hasEnded());
    await again;
  });

  /** As browsers do: another stream as soon as one ends, on the connection that is there. */
  async function reopenFor(stream: LiveStream, port: number): Promise<void> {
    await eventually(() => stream.hasEnded(), { everyMs: 1 });
    const browser = new Browser(port);
    browser.cookie = admin.cookie;
    await openStream(browser, 'devices').catch(() => undefined);
  }
});

describe('the heartbeat of live streams', () => {
  it('asks once for all tabs of a session, and not at all without a tab', async () => {
    const asked: string[] = [];
    let beats = 0;
    const heartbeat = new Heartbeat(20);
    const tabOf = (sessionId: string): Stream => ({
      sessionId,
      staysIn: async () => asked.push(sessionId) > 0,
      beat: () => void beats++,
      end: () => {},
    });
    const leave = [...Array(10).fill('a'), 'b'].map((id) => heartbeat.add(tabOf(id)));
    await eventually(() => beats >= 11);
    expect(asked.slice(0, 2)).to.deep.equal(['a', 'b']);
    for (const end of leave) end();
    const before = asked.length;
    // As long as another one takes for three beats.
    const other = new Heartbeat(20);
    beats = 0;
    const leaveOther = other.add(tabOf('c'));
    await eventually(() => beats >= 3);
    leaveOther();
    expect(asked.filter((id) => id !== 'c')).to.have.length(before);
  });
});

describe('a feed of the console', () => {
  const BELL: Doorbell = { topic: 'observed', workspace: 'main', device: 'x' };

  const HERE = 'event: things\ndata: "here"';
  const dataOf = (frame: Buffer) => /^data: (.*)$/m.exec(String(frame))![1]!;

  function countingFeed() {
    const reads: (readonly Doorbell[] | undefined)[] = [];
    const feed = new Feed('things', {
      ...{ role: 'viewer', everyMs: 60_000, isRungBy: () => true },
      read: async (bells) => reads.push(bells),
    });
    const told: string[] = [];
    const follower = (): Follower => ({ role: 'viewer', tell: (frame) => told.push(dataOf(frame)) });
    return { feed, reads, told, follower };
  }

  it('is read for ten tabs as often as for one, and for none not at all', async () => {
    const { feed, reads, told, follower } = countingFeed();
    const followers = Array.from({ length: 10 }, follower);
    for (const each of followers) feed.add(each);
    await eventually(() => told.length === 10);
    expect(reads).to.have.length(1);
    feed.ring(BELL);
    await eventually(() => told.length === 20);
    expect(reads.slice(1)).to.deep.equal([[BELL]]);
    for (const each of followers) feed.remove(each);
    feed.ring(BELL);
    expect(feed.isFollowed).to.equal(false);
  });

  it('tells a list once, and from then on what has changed in it', async () => {
    let list = Array.from({ length: 1_000 }, (_, index) => ({ id: `d${1_000 + index}`, status: 'connected' }));
    const topic: Topic = {
      role: 'viewer',
      everyMs: 60_000,
      isRungBy: () => true,
      isList: true,
      read: async () => list,
    };
    const feed = new Feed('devices', topic);
    const frames: string[] = [];
    const one: Follower = { role: 'viewer', tell: (frame) => frames.push(String(frame)) };
    feed.add(one);
    await eventually(() => frames.length === 1);
    list = list.slice(1).map((item) => (item.id === 'd1500' ? { ...item, status: 'connecting' } : item));
    feed.ring(BELL);
    await eventually(() => frames.length === 2);
    expect(frames[1]).to.equal(
      'event: devices.changes\ndata: {"changed":[{"id":"d1500","status":"connecting"}],"removed":["d1000"]}\n\n',
    );
    // One who comes later is told all of it, as it is by now.
    const late: string[] = [];
    const other: Follower = { role: 'viewer', tell: (frame) => late.push(String(frame)) };
    feed.add(other);
    expect(JSON.parse(dataOf(Buffer.from(late[0]!)))).to.deep.equal(list);
    feed.remove(one);
    feed.remove(other);
  });

  it('says that it cannot be read, once, and tells all as soon as it can', async () => {
    let isAway = true;
    const topic: Topic = {
      ...{ role: 'viewer', everyMs: 60_000, isRungBy: () => true },
      read: async () => (isAway ? Promise.reject(new Error('Redis is away')) : 'here'),
    };
    const reasons: string[] = [];
    const feed = new Feed('things', topic, ({ message }) => reasons.push(message));
    const told: string[] = [];
    const one: Follower = { role: 'viewer', tell: (frame) => told.push(String(frame).trim()) };
    feed.add(one);
    await eventually(() => told.length > 0);
    feed.ring(BELL);
    await eventually(() => told.length > 0);
    isAway = false;
    await eventually(() => told.at(-1) === HERE);
    expect(told).to.deep.equal(['event: trouble\ndata: {}', HERE]);
    expect(reasons).to.deep.equal(['Redis is away']);
    feed.remove(one);
  });

  it('is told four times a second at most, and the last time says how it is', async () => {
    const { feed, reads, told, follower } = countingFeed();
    const one = follower();
    const startMs = performance.now();
    feed.add(one);
    while (told.length < 4) {
      feed.ring(BELL);
      await sleep(5);
    }
    expect(performance.now() - startMs).to.be.at.least(740);
    feed.ring(BELL);
    const before = reads.length;
    await eventually(() => reads.length > before);
    await eventually(() => told.at(-1) === String(reads.length));
    feed.remove(one);
  });
});
