import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { DisconnectOutcome } from '@gateway/messenger/codes/disconnect-outcomes';
import { defer } from '@gateway/runtime/deferred';
import { readDeviceState, requestLink, requestUnlink } from '@gateway/store/devices/device-state';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { ADDRESS, useOwner } from './support/owner-stage.js';

describe('the end of an owner', () => {
  const stage = useOwner();
  const { observed, isObserved, isOpen, nowMs } = stage;
  const state = () => readDeviceState(stage.space.store, ADDRESS);
  const isFree = async () =>
    (await stage.space.store.redis.exists(deviceKeys(stage.space.store.space, ADDRESS).owner)) === 0;
  /** The bell of an operator who wants the account gone. */
  const unlink = async () => {
    await requestUnlink(stage.space.store, ADDRESS, { attemptId: 'two' });
    stage.owner.look();
    await stage.owner.ended;
  };

  it('by a wish of the user forgets the keys, and says where the network did not confirm it', async () => {
    await isOpen();
    stage.sessions[0]!.logOut = async () => {
      throw new Error('no answer');
    };
    await unlink();
    expect(await observed()).to.include({ status: 'disconnected', reason: 'disconnected', logout: 'unconfirmed' });
    expect((await state()).hasKeys).to.equal(false);
    expect([stage.owner.failed, await isFree()]).to.deep.equal([false, true]);
  });

  it('by a wish of the user leaves the keys to the connection service while there is no session', async () => {
    await isOpen();
    stage.sessions[0]!.lose({ kind: 'reconnect', code: 428, backoff: 'network' });
    await eventually(() => stage.owner.state === 'waiting', { everyMs: 1 });
    await unlink();
    expect((await state()).hasKeys, 'it logs in to log out').to.equal(true);
    expect((await observed())?.logout).to.equal(undefined);
    expect([stage.owner.failed, await isFree()]).to.deep.equal([false, true]);
  });

  it('by a wish for another account logs this one out, and says nothing of the one that comes', async () => {
    await isOpen();
    const before = await observed();
    let isLoggedOut = false;
    const { logOut } = stage.sessions[0]!;
    stage.sessions[0]!.logOut = async () => {
      isLoggedOut = true;
      await logOut.call(stage.sessions[0]);
    };
    await requestLink(stage.space.store, ADDRESS, { attemptId: 'two', method: 'qrCode', forceNew: true });
    stage.owner.look();
    await stage.owner.ended;
    const { desired, hasKeys } = await state();
    expect([isLoggedOut, hasKeys, desired?.want]).to.deep.equal([true, false, 'linking']);
    expect(await observed(), 'in the name of the next').to.deep.equal(before);
    expect([stage.owner.failed, await isFree()]).to.deep.equal([false, true]);
  });

  it('is final: what its session throws later is told, and is no failure of the device', async () => {
    await isOpen();
    await stage.owner.handOver();
    stage.uncaught(new Error('too late'));
    expect(stage.lines).to.include('uncaught error of a device that was given back');
    expect(stage.lines).not.to.include('owner failed, device released');
    expect(stage.owner.failed).to.equal(false);
    expect(await stage.registry.metrics()).to.match(/gateway_contained_errors_total(\{[^}]*\})? 1/);
  });

  it('comes with what its session throws, which is a failure of the device', async () => {
    await isOpen();
    stage.uncaught(new Error('a defect'));
    await stage.owner.ended;
    expect(stage.lines).to.include('owner failed, device released');
    expect([stage.owner.failed, await isFree()]).to.deep.equal([true, true]);
  });

  for (const [outcome, reason] of [
    [{ kind: 'loggedOut', code: 401 }, 'logged_out'],
    [{ kind: 'banned', code: 403 }, 'banned'],
    [{ kind: 'notMultiDevice', code: 411 }, 'not_multi_device'],
  ] as [DisconnectOutcome, string][]) {
    it(`is counted and told where the network says ${outcome.kind}, with its words`, async () => {
      await isOpen();
      stage.sessions[0]!.lose(outcome, { serverWords: 'as it says' });
      await stage.owner.ended;
      expect(await observed()).to.include({ status: 'disconnected', reason, networkReason: 'as it says' });
      const name = outcome.kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      expect(await stage.registry.metrics()).to.include(`gateway_disconnects_total{outcome="${name}"} 1`);
      expect(stage.lines).to.include('device unlinked');
    });
  }

  it('gives the device back although its session cannot be closed, and says so', async () => {
    await isOpen();
    const { close } = stage.sessions[0]!;
    stage.sessions[0]!.close = async () => {
      await close.call(stage.sessions[0]);
      throw new Error('it hangs');
    };
    await stage.owner.handOver();
    expect(stage.lines).to.include('session not closed');
    expect([stage.owner.failed, await isFree()]).to.deep.equal([false, true]);
  });

  it('comes in the middle of a login, too, which is then over', async () => {
    await isOpen();
    stage.network = defer<void>();
    stage.sessions[0]!.lose({ kind: 'restart', code: 515 });
    await eventually(() => stage.owner.state === 'opening', { everyMs: 1 });
    const over = stage.owner.handOver();
    stage.network.resolve();
    await over;
    expect([stage.owner.state, stage.owner.failed, await isFree()]).to.deep.equal(['ended', false, true]);
  });

  it('lets another device log in after three seconds in which the network said nothing', async () => {
    await isOpen();
    stage.network = defer<void>();
    stage.sessions[0]!.lose({ kind: 'restart', code: 515 });
    await eventually(() => stage.owner.state === 'opening', { everyMs: 1 });
    let isNext = false;
    void stage.openings.add(() => {
      isNext = true;
    });
    await eventually(() => isNext && stage.owner.state === 'waiting');
    expect(stage.sessions).to.have.length(1);
    stage.network.resolve();
    await isOpen(2);
    await isObserved({ status: 'connected' });
  });

  it('does not come with one message that got no ack where the network answered later ones', async () => {
    await isOpen();
    const first = defer<{ kind: 'unacknowledged' }>();
    stage.script.answer = ({ to }) => (to === '4915170001' ? first.promise : { kind: 'accepted', atMs: nowMs() });
    void stage.send('4915170001');
    await stage.isSent(await stage.send('4915170002'), 1);
    expect([stage.owner.state, stage.sessions.length]).to.deep.equal(['open', 1]);
    first.resolve({ kind: 'unacknowledged' });
    stage.sessions[0]!.lapse();
  });
});
