import type { Doorbell } from '@gateway/contracts/doorbell';
import { doorbellChannel } from '@gateway/contracts/redis-keys';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { addDoorbellLag } from '@gateway/store/core/doorbell-lag';
import { DoorbellListener, ringDoorbell } from '@gateway/store/core/doorbells';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const bell: Doorbell = { topic: 'sends', workspace: 'main', device: 'phone-1' };

describe('doorbells', () => {
  let space: RedisSpace;
  let listener: DoorbellListener;

  beforeEach(async () => {
    space = await openRedisSpace();
    listener = await DoorbellListener.listen(space.clients.subscriber, space.store.space);
  });
  afterEach(async () => {
    listener.close();
    await space.close();
  });

  it('reach all listeners', async () => {
    const heard: Doorbell[][] = [[], []];
    for (const each of heard) listener.on((doorbell) => each.push(doorbell));
    await ringDoorbell(space.store, bell);
    await eventually(() => heard.every(({ length }) => length === 1));
    expect(heard).to.deep.equal([[bell], [bell]]);
  });

  it('do not reach former listeners', async () => {
    const [stayed, gone]: Doorbell[][] = [[], []];
    const stop = listener.on((doorbell) => gone!.push(doorbell));
    listener.on((doorbell) => stayed!.push(doorbell));
    stop();
    await ringDoorbell(space.store, bell);
    await eventually(() => stayed!.length === 1);
    expect(gone).to.deep.equal([]);
    listener.close();
    expect(space.clients.subscriber.listenerCount('message')).to.equal(0);
  });

  it('drop what is no doorbell: the channel is open to every client of that Redis', async () => {
    const heard: Doorbell[] = [];
    listener.on((doorbell) => heard.push(doorbell));
    for (const text of ['', 'sends', 'sends main', 'sends main a b', 'nonsense main phone-1']) {
      await space.clients.commands.publish(doorbellChannel(space.store.space), text);
    }
    await ringDoorbell(space.store, bell);
    await eventually(() => heard.length > 0);
    expect(heard).to.deep.equal([bell]);
  });

  it('tell by a metric how long one takes, and that none arrives', async () => {
    const registry = createMetrics();
    const { subscriber, failFast: redis } = space.clients;
    addDoorbellLag(registry, { subscriber, redis, space: space.store.space });
    const lag = async () => Number(/^gateway_doorbell_lag_seconds (.*)$/m.exec(await registry.metrics())?.[1]);
    expect(await lag(), 'of none').to.equal(0);
    await eventually(async () => (await lag()) > 0);
    await subscriber.unsubscribe();
    // The first of these may still tell of one that arrived.
    const later = [await lag(), await lag(), await lag(), await lag()];
    expect(later[3]).to.be.above(later[2]!);
  });

  it('never fail the caller', async () => {
    const gone = await openRedisSpace();
    await gone.close();
    await ringDoorbell(gone.store, bell);
  });
});
