import { setImmediate as nextTurn } from 'node:timers/promises';
import { DeviceStates } from '@gateway/api/devices/device-states';
import { makeAttemptId } from '@gateway/contracts/ids';
import { requestLink } from '@gateway/store/devices/device-state';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { DEFAULT } from './support/device-owner.js';

describe('the states of devices that requests read', () => {
  let space: RedisSpace;
  let states: DeviceStates;

  beforeEach(async () => {
    space = await openRedisSpace();
    states = new DeviceStates(space.store);
  });
  afterEach(() => space.close());

  const link = () =>
    requestLink(space.store, DEFAULT, { attemptId: makeAttemptId(), method: 'qrCode', forceNew: false });

  it('are read once for all who ask in one turn, for each device apart', async () => {
    const [first, second] = [states.read(DEFAULT), states.read({ ...DEFAULT })];
    expect(first).to.equal(second);
    expect(states.read({ ...DEFAULT, device: 'other' })).not.to.equal(first);
    expect((await first).desired).to.equal(undefined);
  });

  it('are never older than the question', async () => {
    const before = states.read(DEFAULT);
    await link();
    expect((await states.read(DEFAULT)).desired?.want).to.equal('linking');
    await before;
  });

  it('are read again after a failure', async () => {
    const { run } = space.store;
    space.store.run = () => Promise.reject(new Error('Redis is away'));
    const failed = await states.read(DEFAULT).catch((error: Error) => error);
    expect(failed).to.be.instanceOf(Error);
    space.store.run = run;
    await nextTurn();
    expect(await states.read(DEFAULT)).to.include({ isOwned: false });
  });
});
