import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { openEvents } from '@gateway/store/events/open-events';
import { claimDelivery, type TakenWebhook, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { readWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 200 }, (_, i) => `49151123${String(40_000 + i)}`);
const HOUR_MS = 3_600_000;

describe('what happens to a list, told to a webhook', () => {
  const { space, stage, create, accept, record, rows } = useLoggedEndpoint();

  it('waits no longer where the clock is set back', async () => {
    const run = await create({ gatherSeconds: 30 });
    stage.aheadMs = HOUR_MS;
    await record(await accept(PEOPLE), 'acked', 0, 150);
    expect(await run()).to.equal('waiting');
    expect(rows()).to.deep.equal([]);
    stage.aheadMs = 0;
    await run();
    expect(rows().flat()).to.have.length(150);
  });

  it('is for one that was made while the clock was ahead, also once it has passed that time again', async () => {
    const run = await create({ gatherSeconds: 0 });
    const key = workspaceKeys(space.store.space, 'main').webhook(run.id);
    const sayMade = (inMs: number) => space.store.redis.hset(key, 'createdAtMs', Date.now() + inMs);
    await sayMade(2 * HOUR_MS);
    const tag = await accept(PEOPLE);
    await record(tag, 'acked', 0, 3);
    await run();
    stage.aheadMs = -HOUR_MS;
    await record(tag, 'acked', 3, 6);
    stage.aheadMs = 0;
    await sayMade(-1);
    await run();
    const told = rows().map((changes) => changes.map(({ index }) => index));
    expect(told).to.deep.equal([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(stage.gaps).to.deep.equal([]);
  });

  it('is passed over by no process that took the endpoint before', async () => {
    const { id } = await create();
    const key = workspaceKeys(space.store.space, 'main').webhook(id);
    const take = async () => {
      const taken = await takeWebhook(space.store, { workspace: 'main', id }, ownerOf('process-1'));
      if (typeof taken === 'string') throw new Error(taken);
      return taken;
    };
    const passTo = (taken: TakenWebhook, cursor: string) =>
      claimDelivery(space.store, taken, { lane: 'lists', state: { cursor }, nowMs: Date.now() });
    const before = await take();
    const [madeAtMs, first] = await space.store.redis.hmget(key, 'createdAtMs', 'lane:lists');
    await space.store.redis.hset(key, 'createdAtMs', Date.now() + HOUR_MS);
    expect(await passTo(before, '1-1')).to.equal(false);
    await space.store.redis.hset(key, 'createdAtMs', madeAtMs!);
    expect(await passTo(before, '1-1')).to.equal(false);
    expect(await space.store.redis.hget(key, 'lane:lists')).to.equal(first);
    expect(await passTo(await take(), '1-1')).to.equal(true);
  });

  it('is for one that has not passed its test yet', async () => {
    const { id } = await create();
    const key = workspaceKeys(space.store.space, 'main').webhook(id);
    await space.store.redis.hset(key, 'status', 'unverified', 'createdAtMs', Date.now() + HOUR_MS);
    const place = { workspace: 'main', id };
    expect(await readWebhook(space.store, 'main', id)).not.to.have.property('tellsAll');
    expect(await takeWebhook(space.store, place, ownerOf('process-1'))).to.equal('idle');
    expect(await readWebhook(space.store, 'main', id)).to.include({ tellsAll: true });
  });

  it('is behind the place in the log where an endpoint was made, whatever the clock showed', async () => {
    await openEvents(space.store, 'main');
    const { eventLog } = workspaceKeys(space.store.space, 'main');
    const last = `${Date.now() + HOUR_MS}-7`;
    await space.store.redis.xsetid(eventLog, last);
    const { id } = await create();
    const taken = await takeWebhook(space.store, { workspace: 'main', id }, ownerOf('process-1'));
    expect(taken).to.nested.include({ 'lanes.prompt.cursor': last, 'lanes.lists.cursor': last });
  });
});
