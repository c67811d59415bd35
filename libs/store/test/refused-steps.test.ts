import type { DeviceStatus } from '@gateway/contracts/devices/device-state';
import type { Store } from '@gateway/store/core/store';
import { readDeviceState, recordObserved } from '@gateway/store/devices/device-state';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useOwnedDevice } from './support/use-owned-device.js';

describe('steps of an owner that Redis refuses for a moment', () => {
  const { address, space, ownership } = useOwnedDevice();
  let refusals: number;
  let asked: number;
  let store: Store;

  beforeEach(() => {
    [refusals, asked] = [1, 0];
    store = {
      ...space.store,
      async run(...step) {
        asked++;
        if (refusals > 0 && refusals--) throw new Error('NOREPLICAS Not enough good replicas to write.');
        return space.store.run(...step);
      },
    };
  });

  const say = (status: DeviceStatus) => recordObserved(store, ownership, { actedOn: undefined, observed: { status } });
  const said = async () => (await readDeviceState(space.store, address)).observed?.status;

  it('are taken before what the owner writes meanwhile, which they would undo', async () => {
    const first = say('connected');
    await eventually(() => asked > 0);
    await Promise.all([first, say('connecting'), say('disconnected')]);
    expect(await said()).to.equal('disconnected');
    expect(asked, 'the others wait, and are not refused themselves').to.equal(4);
  });

  it('keep their order where several were under way, and are refused more than once', async () => {
    refusals = 4;
    await Promise.all([say('connected'), say('connecting'), say('disconnected')]);
    expect(await said()).to.equal('disconnected');
  });

  it('hold up nothing once they are taken', async () => {
    await say('connecting');
    asked = 0;
    await say('connected');
    expect([asked, await said()]).to.deep.equal([1, 'connected']);
  });
});
