import { FencedError } from '@gateway/runtime/errors';
import {
  cancelLink,
  readDeviceState,
  recordObserved,
  requestLink,
  requestUnlink,
} from '@gateway/store/devices/device-state';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { giveDeviceBack } from '@gateway/testkit/ownership';
import { expect } from 'chai';
import { useOwnedDevice } from './support/use-owned-device.js';

describe('the state of a device', () => {
  const { address, space, ownership } = useOwnedDevice();

  const read = () => readDeviceState(space.store, address);
  const link = (attemptId: string, options: Partial<Parameters<typeof requestLink>[2]> = {}) =>
    requestLink(space.store, address, { attemptId, method: 'qrCode', forceNew: false, ...options });
  const unlink = (attemptId: string) => requestUnlink(space.store, address, { attemptId });
  async function linked(): Promise<void> {
    await link('att_1');
    await deviceKeyStore(space.store, ownership).commit({ creds: '{}' });
    const { desired } = await read();
    await recordObserved(space.store, ownership, {
      actedOn: desired,
      observed: { status: 'connected', phone: '491511' },
      want: 'linked',
    });
  }

  it('is empty for a device without requests', async () => {
    await giveDeviceBack(space.store, ownership);
    const { accountEpoch, ...state } = await read();
    expect(state).to.deep.equal({ isOwned: false, hasKeys: false, waitingMessages: 0 });
    expect(accountEpoch).to.be.above(0);
  });

  it('joins callers who ask for the same link, and starts again for another one', async () => {
    expect(await link('att_1')).to.deep.equal({ outcome: 'started', attemptId: 'att_1' });
    expect(await link('att_2')).to.deep.equal({ outcome: 'inProgress', attemptId: 'att_1' });
    const pairing = { method: 'pairingCode', phone: '491511' } as const;
    expect(await link('att_3', pairing)).to.deep.equal({ outcome: 'started', attemptId: 'att_3' });
    expect(await link('att_4', pairing)).to.deep.equal({ outcome: 'inProgress', attemptId: 'att_3' });
    expect((await link('att_5', { ...pairing, phone: '491522' })).outcome).to.equal('started');
    expect((await link('att_6', { forceNew: true })).attemptId).to.equal('att_6');
    expect((await read()).desired, 'nothing is left of the attempt before').not.to.have.property('phone');
  });

  it('does not link again what is linked, unless it is forced', async () => {
    await linked();
    expect((await link('att_2')).outcome).to.equal('alreadyLinked');
    expect((await link('att_3', { forceNew: true })).outcome).to.equal('started');
    expect((await read()).desired).to.include({ want: 'linking', attemptId: 'att_3' });
  });

  it('keeps the keys of a parked device through attempts to link it, unless one is forced', async () => {
    await linked();
    const park = async () =>
      recordObserved(space.store, ownership, {
        actedOn: (await read()).desired,
        observed: { status: 'disconnected', reason: 'replaced' },
        want: 'parked',
      });
    await park();
    expect((await link('att_2')).outcome).to.equal('started');
    expect((await link('att_3', { method: 'pairingCode', phone: '491511' })).outcome).to.equal('started');
    expect((await read()).desired).to.include({ want: 'linking', keepsKeys: '1' });
    expect(await cancelLink(space.store, address, { attemptId: 'att_3', reason: 'link_timeout' })).to.equal(true);
    expect((await read()).desired?.want).to.equal('parked');
    await link('att_4', { forceNew: true });
    expect((await read()).desired).to.not.have.property('keepsKeys');
    await cancelLink(space.store, address, { attemptId: 'att_4', reason: 'link_timeout' });
    expect((await read()).desired?.want).to.equal('unlinked');
  });

  it('unlinks once, however often it is asked', async () => {
    expect(await unlink('att_0')).to.deep.equal({ outcome: 'nothingLinked', attemptId: '' });
    await linked();
    expect(await unlink('att_2')).to.deep.equal({ outcome: 'requested', attemptId: 'att_2' });
    expect(await unlink('att_3')).to.deep.equal({ outcome: 'requested', attemptId: 'att_2' });
  });

  it('drops what an owner says of a request that is over', async () => {
    await linked();
    const { desired } = await read();
    await unlink('att_2');
    const late = { actedOn: desired, observed: { status: 'connected' as const }, want: 'linked' as const };
    expect(await recordObserved(space.store, ownership, late)).to.equal('moved');
    expect((await read()).desired).to.include({ want: 'unlinked', attemptId: 'att_2' });
  });

  it('shows nothing of an observation but the last one', async () => {
    await link('att_1');
    const { desired } = await read();
    const observe = (observed: Parameters<typeof recordObserved>[2]['observed']) =>
      recordObserved(space.store, ownership, { actedOn: desired, observed });
    await observe({ status: 'connecting', code: 'secret', codeExpiresAtMs: 5 });
    expect((await read()).observed).to.include({ code: 'secret', codeExpiresAtMs: 5 });
    await observe({ status: 'disconnected', reason: 'link_expired' });
    const { observed } = await read();
    expect(observed).to.include({ status: 'disconnected', reason: 'link_expired' });
    expect(observed).to.have.keys(['status', 'reason', 'sinceMs']);
  });

  it('refuses the observation of a stale owner', async () => {
    await linked();
    const { desired } = await read();
    await giveDeviceBack(space.store, ownership);
    const late = recordObserved(space.store, ownership, { actedOn: desired, observed: { status: 'disconnected' } });
    expect(await late.catch((thrown: unknown) => thrown)).to.be.instanceOf(FencedError);
    expect((await read()).observed).to.include({ status: 'connected' });
  });

  it('ends an unanswered attempt, but neither the next one nor a link', async () => {
    const cancel = (attemptId: string) => cancelLink(space.store, address, { attemptId, reason: 'link_timeout' });
    await link('att_1');
    await link('att_2', { forceNew: true });
    expect(await cancel('att_1')).to.equal(false);
    expect(await cancel('att_2')).to.equal(true);
    const state = await read();
    expect(state.desired?.want).to.equal('unlinked');
    expect(state.observed).to.include({ status: 'disconnected', reason: 'link_timeout', attemptId: 'att_2' });
    await linked();
    expect(await cancel('att_1'), 'linked meanwhile').to.equal(false);
  });
});
