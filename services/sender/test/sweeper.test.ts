import { deviceKeys } from '@gateway/contracts/redis-keys';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import { systemClock } from '@gateway/runtime/clock';
import { createLogger } from '@gateway/runtime/logs/logger';
import { sweepDevices } from '@gateway/sender/fleet/sweep-devices';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const workspace = 'main';
const logger = { ...createLogger({ service: 'test', level: 'error' }), warn: () => {} };

describe('the sweeper', () => {
  let space: RedisSpace;
  let keeper: SessionKeeper;

  beforeEach(async () => {
    space = await openRedisSpace();
    keeper = new SessionKeeper({ store: space.store, clock: systemClock, logger, owner: 'sweeper', ttlMs: 10_000 });
    for (const device of ['a', 'b']) await ensureDevice(space.store, { workspace, device });
  });
  afterEach(async () => {
    await keeper.stop();
    await space.close();
  });

  const run = (aheadMs = 0) => {
    const clock = { ...systemClock, nowMs: () => Date.now() + aheadMs };
    return sweepDevices({ store: space.store, keeper, clock, logger });
  };
  async function send(device: string, { lifeMs = 60_000 } = {}): Promise<string> {
    const address = { workspace, device };
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['491511'] },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + lifeMs },
    });
    return messageId;
  }
  const stateOf = async (device: string, messageId: string) =>
    (await readSend(space.store, { workspace, device }, messageId))?.state;
  const ownerOf = (device: string) =>
    space.clients.commands.get(deviceKeys(space.store.space, { workspace, device }).owner);

  it('ends what is over on a device without an owner, and releases the ownership', async () => {
    const [over, going] = [await send('a', { lifeMs: -1 }), await send('a')];
    await run();
    expect(await stateOf('a', over)).to.equal('closed');
    expect(await stateOf('a', going)).to.equal('open');
    expect(await ownerOf('a')).to.equal(null);
  });

  it('takes no ownership where there is nothing to do, so that a link need not wait', async () => {
    await send('a');
    await run();
    expect(
      await space.clients.commands.exists(deviceKeys(space.store.space, { workspace, device: 'a' }).epoch),
    ).to.equal(0);
  });

  it('leaves a device with an owner alone', async () => {
    const over = await send('a', { lifeMs: -1 });
    const ownership = await takeDevice(space.store, { workspace, device: 'a' }, { owner: 'owner', ttlMs: 60_000 });
    await run();
    expect(await stateOf('a', over)).to.equal('open');
    expect(await ownerOf('a')).to.equal(ownership!.token);
  });

  it('goes on with the other devices when one cannot be swept', async () => {
    const { openSends } = deviceKeys(space.store.space, { workspace, device: 'a' });
    await space.clients.commands.set(openSends, 'of a wrong type');
    const over = await send('b', { lifeMs: -1 });
    await run();
    expect(await stateOf('b', over)).to.equal('closed');
    expect(await ownerOf('a')).to.equal(null);
  });
});
