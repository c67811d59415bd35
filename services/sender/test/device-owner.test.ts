import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import type { DisconnectOutcome } from '@gateway/messenger/codes/disconnect-outcomes';
import { defer } from '@gateway/runtime/deferred';
import { readDeviceState, reportObserved, requestUnlink } from '@gateway/store/devices/device-state';
import { setPace } from '@gateway/store/devices/devices';
import { retireKeys } from '@gateway/store/devices/keys/device-keys';
import { setClientVersion } from '@gateway/store/fleet/client-version';
import { eventually } from '@gateway/testkit/eventually';
import type { Answer } from '@gateway/testkit/scripted-session';
import { expect } from 'chai';
import { ACCOUNT, ADDRESS, useOwner } from './support/owner-stage.js';

/** Its life, whatever the network: what goes over a real socket is tested with the wiring. */
describe('the owner of a device, on a script', () => {
  const stage = useOwner();
  const { nowMs, observed, isObserved, isOpen, isStill, isSent, send } = stage;

  it('opens a session, says who is connected, and sends what is accepted', async () => {
    await isOpen();
    expect(await observed()).to.include({ status: 'connected', phone: ACCOUNT.phone, name: 'Shop' });
    await isSent(await send('4915170001', '4915170002'), 2);
    await stage.sessions[0]!.report({ kind: 'renamed', name: 'Shop and more' });
    await isObserved({ name: 'Shop and more' });
  });

  it('says once more that it is connected, and whether it waits for a backlog, when a failover has forgotten that', async () => {
    await isOpen();
    await isStill();
    const { redis, space } = stage.space.store;
    const key = deviceKeys(space, ADDRESS).observed;
    const forget = async (...fields: string[]) => {
      await redis.hset(key, ...fields);
      stage.owner.look({ afterGap: true });
    };
    await forget('status', 'connecting', 'reason', 'restoring');
    await isObserved({ status: 'connected', reason: undefined, phone: ACCOUNT.phone, name: 'Shop' });
    await forget('reason', 'awaiting_backlog');
    await isObserved({ status: 'connected', reason: undefined });
  });

  it('looks at its device again and again while sends are under way, and then no more until a doorbell rings', async () => {
    await isOpen();
    const ack = defer<Answer>();
    stage.script.answer = () => ack.promise;
    const list = await send('4915170001');
    stage.owner.look();
    const before = stage.looks;
    await eventually(() => stage.looks > before + 5, { everyMs: 5 });
    ack.resolve({ kind: 'accepted', atMs: 0 });
    await isSent(list, 1);
    await isStill();
    const still = stage.looks;
    stage.owner.look();
    await eventually(() => stage.looks > still, { everyMs: 5 });
    await isStill();
  });

  it('takes another pace within a few seconds when the doorbell was lost that tells of it in mid-list', async () => {
    await isOpen();
    await isStill();
    await setPace(stage.space.store, ADDRESS, { messagesPerMinute: 1, burst: 1, jitter: 0 });
    const before = stage.looks;
    stage.owner.look();
    await eventually(() => stage.looks > before, { everyMs: 5 });
    await isStill();
    const list = await send('4915170001', '4915170002');
    await isSent(list, 1);
    await setPace(stage.space.store, ADDRESS, undefined);
    await isSent(list, 2);
  });

  it('asks Redis one thing at each look while nothing is under way', async () => {
    await isOpen();
    await isStill();
    stage.lookMs.quiet = 10;
    stage.owner.look();
    const nextLooks = async (count: number) => {
      const from = stage.looks;
      await eventually(() => stage.looks >= from + count, { everyMs: 5 });
      return stage.looks - from;
    };
    await nextLooks(3);
    let commands = 0;
    const { redis } = stage.space.store;
    const sendCommand = redis.sendCommand.bind(redis);
    redis.sendCommand = (...command) => {
      commands += 1;
      return sendCommand(...command);
    };
    expect(await nextLooks(10)).to.be.at.least(commands - 2);
    await isSent(await send('4915170001'), 1);
  });

  it('opens the next session after the pause that the network’s reason calls for, and goes on there', async () => {
    await isOpen();
    let written = 0;
    stage.script.answer = () => (written++ === 0 ? 'silence' : { kind: 'accepted', atMs: 0 });
    const list = await send('4915170001');
    await eventually(() => written === 1, { everyMs: 5 });
    stage.sessions[0]!.lose({ kind: 'reconnect', code: 428, backoff: 'network' });
    await isObserved({ status: 'connecting' });
    const { notBeforeMs } = (await observed())!;
    expect(notBeforeMs).to.be.above(nowMs());
    expect(stage.sessions, 'not before').to.have.length(1);
    stage.passedMs += notBeforeMs! - nowMs();
    stage.owner.look();
    await isOpen(2);
    await isSent(list, 1);
    const told = await stage.registry.metrics();
    for (const outcome of ['begun', 'logged_in'])
      expect(told).to.include(`gateway_logins_total{outcome="${outcome}"} 2`);
    expect(told).to.include('gateway_disconnects_total{outcome="reconnect"} 1');
  });

  it('gives a session up that leaves a message without an ack, and sends it again on the next', async () => {
    await isOpen();
    const ids = new Set<string>();
    stage.script.answer = ({ platformId }) => {
      ids.add(platformId);
      return stage.sessions.length === 1 ? 'silence' : { kind: 'accepted', atMs: 0 };
    };
    const list = await send('4915170001');
    await eventually(() => ids.size === 1, { everyMs: 5 });
    stage.sessions[0]!.lapse();
    await isObserved({ status: 'connecting' });
    stage.passedMs += 120_000;
    stage.owner.look();
    await isOpen(2);
    await isSent(list, 1);
    expect(ids.size).to.equal(1);
  });

  for (const outcome of [
    { kind: 'loggedOut', code: 401 },
    { kind: 'banned', code: 403 },
  ] as DisconnectOutcome[]) {
    it(`gives the device up for good when the network says that it is ${outcome.kind}`, async () => {
      await isOpen();
      stage.sessions[0]!.lose(outcome);
      await stage.owner.ended;
      expect(await observed()).to.include({ status: 'disconnected' });
      const { desired, hasKeys } = await readDeviceState(stage.space.store, ADDRESS);
      expect([desired?.want, hasKeys]).to.deep.equal(['unlinked', false]);
      expect(stage.sessions).to.have.length(1);
    });
  }

  it('opens the next session at once when the network asks for that', async () => {
    await isOpen();
    stage.sessions[0]!.lose({ kind: 'restart', code: 515 });
    await isOpen(2);
    expect(await observed()).to.include({ status: 'connected' });
  });

  it('logs in no more while the network refuses the version, and does with another one', async () => {
    await isOpen();
    stage.sessions[0]!.lose({ kind: 'clientOutdated', code: 405 });
    await isObserved({ status: 'connecting', reason: 'client_outdated' });
    stage.passedMs += 60_000;
    stage.owner.look();
    await eventually(() => stage.owner.state === 'waiting', { everyMs: 5 });
    expect(stage.sessions).to.have.length(1);
    await setClientVersion(stage.space.store, '2.3000.999999');
    stage.owner.look();
    await isOpen(2);
  });

  it('waits while the owners before it failed in a row, and says so', async () => {
    await isOpen();
    await stage.owner.handOver();
    stage.ownership = (await stage.keeper.acquire(ADDRESS))!;
    const ended = Array.from({ length: 20 }, (_, i) => `ended:${i}`);
    await stage.space.store.redis.sadd(deviceKeys(stage.space.store.space, ADDRESS).starts, ...ended);
    stage.start();
    await isObserved({ status: 'connecting', reason: 'owner_failing' });
    const { notBeforeMs } = (await observed())!;
    expect([stage.owner.state, stage.sessions.length]).to.deep.equal(['backingOff', 1]);
    stage.passedMs += notBeforeMs! - nowMs();
    stage.owner.look();
    await isOpen(2);
  });

  it('tells the words of the network while it is not connected', async () => {
    await isOpen();
    stage.sessions[0]!.lose({ kind: 'reconnect', code: 503, backoff: 'server' }, { serverWords: 'come back later' });
    await isObserved({ status: 'connecting', networkReason: 'come back later' });
  });

  it('takes in all sends that are open when it begins, but for one that cannot be read', async () => {
    await isOpen();
    await stage.owner.handOver();
    const [broken, whole] = [await send('4915170001'), await send('4915170002')];
    const { record } = sendKeys(stage.space.store.space, ADDRESS, parseMessageId(broken)!.tag);
    await stage.space.store.redis.setrange(record, 0, Buffer.of(255));
    stage.ownership = (await stage.keeper.acquire(ADDRESS))!;
    stage.start();
    await isSent(whole, 1);
    expect([stage.owner.state, stage.owner.failed]).to.deep.equal(['open', false]);
  });

  it('releases a device that it cannot read, and says that it has failed', async () => {
    await isOpen();
    stage.isBroken = true;
    stage.owner.look();
    await stage.owner.ended;
    expect(stage.owner.failed).to.equal(true);
    expect(await stage.keeper.acquire(ADDRESS), 'free for the next').to.not.equal(undefined);
  });

  it('is unlinked when its keys are gone', async () => {
    await isOpen();
    await retireKeys(stage.space.store, stage.ownership, { quarantine: false });
    stage.owner.look();
    await stage.owner.ended;
    expect(await observed()).to.include({ status: 'disconnected', reason: 'logged_out' });
    expect((await readDeviceState(stage.space.store, ADDRESS)).desired?.want).to.equal('unlinked');
  });

  it('ends when it cannot write, and its ownership is free', async () => {
    await isOpen();
    await stage.space.store.redis.set(deviceKeys(stage.space.store.space, ADDRESS).owner, 'other:9');
    void send('4915170001').catch(() => {});
    await stage.owner.ended;
    expect(stage.owner.failed, 'to lose an ownership is no failure of the device').to.equal(false);
    expect(
      await stage.space.store.redis.get(deviceKeys(stage.space.store.space, ADDRESS).owner),
      'that of the other',
    ).to.equal('other:9');
  });

  it('parks the device when another client takes its connection again and again', async () => {
    for (let logins = 1; logins <= 3; logins++) {
      await isOpen(logins);
      stage.sessions.at(-1)!.lose({ kind: 'replaced', code: 440 });
      if (logins < 3) await isObserved({ status: 'connecting', reason: 'replaced' });
      stage.passedMs += 100_000;
      stage.owner.look();
    }
    await stage.owner.ended;
    expect(await observed()).to.include({ status: 'disconnected', reason: 'replaced' });
    const { desired, hasKeys } = await readDeviceState(stage.space.store, ADDRESS);
    expect([desired?.want, hasKeys], 'the keys stay').to.deep.equal(['parked', true]);
  });

  it('does not say connected in the name of the owner before, while it logs in itself', async () => {
    await isOpen();
    await stage.owner.handOver();
    expect(await observed()).to.include({ status: 'connected' });
    stage.ownership = (await stage.keeper.acquire(ADDRESS))!;
    stage.network = defer<void>();
    stage.start();
    await isObserved({ status: 'connecting', reason: 'restoring' });
    stage.network.resolve();
    await isObserved({ status: 'connected' });
  });

  it('waits for no pause of its own that was written while the clock of Redis was ahead', async () => {
    await isOpen();
    stage.sessions[0]!.lose({ kind: 'reconnect', code: 428, backoff: 'network' });
    await isObserved({ status: 'connecting' });
    stage.startMs -= 3_600_000;
    stage.owner.look();
    await isOpen(2);
  });

  it('keeps the pause that the network asked for in sight, whatever it waits for itself', async () => {
    await isOpen();
    await stage.owner.handOver();
    stage.ownership = (await stage.keeper.acquire(ADDRESS))!;
    const { desired } = await readDeviceState(stage.space.store, ADDRESS);
    const asked = { status: 'connecting', reason: 'temporarily_banned', notBeforeMs: nowMs() + 3_600_000 } as const;
    await reportObserved(stage.space.store, stage.ownership, desired!, asked);
    // Its owners failed one after the other, too.
    const ended = Array.from({ length: 20 }, (_, i) => `ended:${i}`);
    await stage.space.store.redis.sadd(deviceKeys(stage.space.store.space, ADDRESS).starts, ...ended);
    stage.start();
    await eventually(() => stage.owner.state === 'backingOff', { everyMs: 5 });
    await stage.owner.handOver();
    expect(await observed()).to.include(asked);
    expect(stage.sessions).to.have.length(1);
  });

  it('logs the device out when the user wants that, and forgets its keys', async () => {
    await isOpen();
    await requestUnlink(stage.space.store, ADDRESS, { attemptId: 'two' });
    stage.owner.look();
    await stage.owner.ended;
    expect(await observed()).to.include({ status: 'disconnected', reason: 'disconnected', logout: 'confirmed' });
    expect((await readDeviceState(stage.space.store, ADDRESS)).hasKeys).to.equal(false);
  });

  it('hands over with its jobs given back, and does nothing from then on', async () => {
    await isOpen();
    let isWritten = false;
    stage.script.answer = () => {
      isWritten = true;
      return 'silence';
    };
    await send('4915170001');
    await eventually(() => isWritten, { everyMs: 5 });
    const handedOver = stage.owner.handOver();
    stage.sessions[0]!.lapse();
    await handedOver;
    expect([stage.owner.state, stage.owner.failed]).to.deep.equal(['ended', false]);
    expect(await stage.keeper.acquire(ADDRESS), 'free for the next').to.not.equal(undefined);
  });
});
