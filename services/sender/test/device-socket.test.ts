import type { DesiredState } from '@gateway/contracts/devices/device-state';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { type HeldDevice, SessionKeeper } from '@gateway/fleet/session-keeper';
import { KeysUnreadableError } from '@gateway/messenger/session/session-errors';
import { systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { FencedError } from '@gateway/runtime/errors';
import { createMetrics } from '@gateway/runtime/process/metrics';
import type { ProcessDeps } from '@gateway/sender/deps';
import { DeviceSocket } from '@gateway/sender/device/device-socket';
import { ResultWriter } from '@gateway/sender/scheduling/result-writer';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import { readDeviceState, requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { ScriptedSession, type SessionScript } from '@gateway/testkit/scripted-session';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const ADDRESS = { workspace: 'main', device: 'a' };
const LOST = { kind: 'reconnect', code: 408, backoff: 'network' } as const;
const PHONE = '491700000031';
const ACCOUNT = { jid: `${PHONE}@s.whatsapp.net`, phone: PHONE, name: 'Shop' };

/** Of which the network has a picture, and which may not hear that it is logged out. */
class Session extends ScriptedSession {
  picture: () => Promise<string | undefined> = async () => undefined;
  isDeaf = false;

  override async fetchProfilePicture(): Promise<undefined> {
    return (await this.picture()) as undefined;
  }

  override async logOut(): Promise<void> {
    if (this.isDeaf) throw new Error('no answer');
    return super.logOut();
  }
}

describe('the sockets of a device, on a script', () => {
  let space: RedisSpace;
  let keeper: SessionKeeper;
  let ownership: HeldDevice;
  let desired: DesiredState;
  let socket: DeviceSocket;
  let clientVersion: ClientVersion;
  let script: SessionScript;
  let sessions: Session[];
  /** What comes instead of the next session. */
  let opening: (() => Promise<void>) | undefined;
  let opened: Session[];
  let ends: number;
  let failures: Error[];

  beforeEach(async () => {
    space = await openRedisSpace();
    const { store } = space;
    [script, sessions, opened, ends, failures, opening] = [{}, [], [], 0, [], undefined];
    const clock = systemClock;
    keeper = new SessionKeeper({ store, clock, logger, owner: 'test', ttlMs: 3_600_000 });
    await ensureDevice(store, ADDRESS);
    ownership = (await keeper.acquire(ADDRESS))!;
    await requestLink(store, ADDRESS, { attemptId: 'one', method: 'qrCode', forceNew: false });
    desired = (await readDeviceState(store, ADDRESS)).desired!;
    const metrics = createSenderMetrics(createMetrics(), () => ({}));
    clientVersion = new ClientVersion({ store, logger, clock });
    const openSession: ProcessDeps['openSession'] = async ({ onEvent }) => {
      await opening?.();
      const session = new Session(script, onEvent);
      sessions.push(session);
      return session;
    };
    socket = new DeviceSocket({
      onEvent: (event) => {
        if (event.kind === 'open') return socket.opened(event.account);
        if (event.kind === 'renamed') return socket.renamed(event.name);
        if (event.kind === 'closed') return socket.closed(event.outcome, event.circumstances);
        if (event.kind === 'versionDeadline') return socket.noteVersionDeadline(event.expiresAtMs);
      },
      onOpen: (session) => void opened.push(session as Session),
      onEnd: () => ends++,
      onFailed: (error) => failures.push(error),
      ...{ store, ownership, clock, logger, metrics, clientVersion, openSession, ackTimeoutMs: 5_000 },
      endpoint: { url: 'ws://127.0.0.1:1', trust: { kind: 'insecure' } },
      ids: platformIds(Buffer.alloc(16, 7)),
      results: new ResultWriter({ store, clock, metrics, ownership }),
    });
  });
  afterEach(async () => {
    await socket.close();
    keeper.stop();
    await space.close();
    expect(failures.map(({ message }) => message)).to.deep.equal([]);
  });

  const observed = async () => (await readDeviceState(space.store, ADDRESS)).observed;
  const isSaid = (fields: object) =>
    eventually(
      async () => {
        expect(await observed()).to.include(fields);
        return true;
      },
      { everyMs: 5 },
    );
  const last = () => sessions.at(-1)!;
  /** With a login that the network answers. */
  const logIn = async (prepare: (session: Session) => void = () => {}) => {
    const begun = sessions.length;
    const decided = socket.open(desired);
    await eventually(() => sessions.length > begun, { everyMs: 1 });
    prepare(last());
    void last().report({ kind: 'open', account: ACCOUNT });
    await decided;
    return last();
  };
  const isOver = (end: object) =>
    eventually(
      () => {
        const found = socket.takeEnd();
        if (found) expect(found).to.deep.equal(end);
        return found !== undefined;
      },
      { everyMs: 1 },
    );

  it('exist from the first step of a login to their end, whose reason is told once', async () => {
    expect(socket.exists).to.equal(false);
    const network = defer<void>();
    opening = () => network.promise;
    const decided = socket.open(desired);
    expect(socket.exists, 'while it connects').to.equal(true);
    network.resolve();
    await eventually(() => sessions.length === 1, { everyMs: 1 });
    void last().report({ kind: 'open', account: ACCOUNT });
    await decided;
    expect(opened).to.deep.equal([last()]);
    expect([socket.exists, ends, socket.takeEnd()]).to.deep.equal([true, 0, undefined]);
    last().lose(LOST, { serverWords: 'gone for now' });
    await isOver({ ...LOST, serverWords: 'gone for now' });
    expect([socket.exists, ends, socket.takeEnd()]).to.deep.equal([false, 1, undefined]);
  });

  it('decide a login by its end, too', async () => {
    const decided = socket.open(desired);
    await eventually(() => sessions.length === 1, { everyMs: 1 });
    last().lose({ kind: 'loggedOut', code: 401 });
    await decided;
    expect(opened).to.deep.equal([]);
    await isOver({ kind: 'loggedOut', code: 401 });
  });

  it('end where the keys cannot be read, and fail where it is anything else', async () => {
    opening = async () => {
      throw new KeysUnreadableError('creds', new Error('another key'));
    };
    await socket.open(desired);
    expect([socket.takeEnd(), socket.exists, ends]).to.deep.equal([{ kind: 'keysUnreadable' }, false, 1]);
    const defect = new Error('defect');
    opening = async () => {
      throw defect;
    };
    expect(await socket.open(desired).catch((thrown: unknown) => thrown)).to.equal(defect);
    expect(socket.exists).to.equal(false);
    await socket.close();
  });

  it('say who is connected, with the picture when it has come, and the new name', async () => {
    const picture = defer<string>();
    const session = await logIn((next) => {
      next.picture = () => picture.promise;
    });
    await isSaid({ status: 'connected', phone: PHONE, name: 'Shop' });
    expect(await observed()).not.to.have.any.keys('profilePic', 'reason');
    picture.resolve('https://pps.whatsapp.net/picture');
    await isSaid({ profilePic: 'https://pps.whatsapp.net/picture', name: 'Shop' });
    void session.report({ kind: 'renamed', name: 'Shop and more' });
    await isSaid({ name: 'Shop and more', profilePic: 'https://pps.whatsapp.net/picture' });
  });

  it('say nothing of a new name before they know whose it is', async () => {
    await logIn((next) => void next.report({ kind: 'renamed', name: 'Shop and more' }));
    await isSaid({ status: 'connected', name: 'Shop' });
  });

  it('fail with what cannot be written', async () => {
    await space.store.redis.set(deviceKeys(space.store.space, ADDRESS).owner, 'other:9');
    const decided = socket.open(desired);
    await eventually(() => sessions.length === 1, { everyMs: 1 });
    void last().report({ kind: 'open', account: ACCOUNT });
    await eventually(() => failures.length > 0, { everyMs: 1 });
    expect(failures.splice(0)[0]).to.be.instanceOf(FencedError);
    expect(opened, 'nothing goes out').to.deep.equal([]);
    await socket.close();
    await decided;
  });

  it('go on without a picture that cannot be had', async () => {
    await logIn((next) => {
      next.picture = () => Promise.reject(new Error('not allowed'));
    });
    await isSaid({ status: 'connected', name: 'Shop' });
  });

  it('tell of a backlog that takes longer than a moment, until it is over', async () => {
    const caughtUp = defer<void>();
    script.caughtUp = caughtUp.promise;
    await logIn();
    await isSaid({ status: 'connected', reason: 'awaiting_backlog' });
    caughtUp.resolve();
    await eventually(async () => (await observed())?.reason === undefined, { everyMs: 5 });
    expect(await observed()).to.include({ status: 'connected' });
  });

  it('say nothing of the backlog of one that has ended meanwhile', async () => {
    const caughtUp = defer<void>();
    script.caughtUp = caughtUp.promise;
    const first = await logIn();
    await isSaid({ reason: 'awaiting_backlog' });
    first.lose(LOST);
    await isOver(LOST);
    script.caughtUp = Promise.resolve();
    await logIn();
    await eventually(async () => (await observed())?.reason === undefined, { everyMs: 5 });
    caughtUp.resolve();
    expect(await observed()).to.include({ status: 'connected' });
  });

  it('are given up where the network does not answer, which is told apart from an end that we wanted', async () => {
    const session = await logIn();
    socket.giveUp(session);
    await isOver({ kind: 'stalled' });
    await logIn();
    socket.giveUp(session);
    expect(socket.exists, 'of an earlier one nothing is to be given up').to.equal(true);
    await socket.close();
    await isOver({ kind: 'closedByUs' });
  });

  it('end with the network’s reason, where it has one, although they were given up', async () => {
    const session = await logIn();
    session.close = async () => session.lose({ kind: 'loggedOut', code: 401 });
    socket.giveUp(session);
    await isOver({ kind: 'loggedOut', code: 401 });
  });

  it('log out, and say whether the network has confirmed that', async () => {
    await logIn();
    expect(await socket.logOut(1_000)).to.equal(true);
    await isOver({ kind: 'loggedOut', code: 401 });
    await logIn((next) => {
      next.isDeaf = true;
    });
    expect(await socket.logOut(1_000)).to.equal(false);
    await isOver({ kind: 'closedByUs' });
    expect(await socket.logOut(1_000), 'without a session').to.equal(false);
  });

  it('wait, when they are closed, for one that connects', async () => {
    const network = defer<void>();
    opening = () => network.promise;
    const decided = socket.open(desired);
    const closed = socket.close();
    network.resolve();
    await Promise.all([decided, closed]);
    await isOver({ kind: 'closedByUs' });
  });

  it('have the fleet stop where the network refuses the version, before anything else is decided', async () => {
    const decided = socket.open(desired);
    await eventually(() => sessions.length === 1, { everyMs: 1 });
    last().lose({ kind: 'clientOutdated', code: 405 });
    await decided;
    expect((await clientVersion.read()).isRefused).to.equal(true);
  });

  it('note until when the network lets the version in', async () => {
    const session = await logIn();
    const atMs = Date.now() + 86_400_000;
    void session.report({ kind: 'versionDeadline', expiresAtMs: atMs });
    await eventually(async () => (await clientVersion.read()).expiresAtMs === atMs, { everyMs: 5 });
  });
});
