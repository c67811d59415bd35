import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import {
  claimDelivery,
  postponeReplay,
  type TakenWebhook,
  takeWebhook,
} from '@gateway/store/webhooks/delivering/deliveries';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';

describe('a replay that is put behind the others', () => {
  let space: RedisSpace;
  let id: WebhookId;
  beforeEach(async () => {
    space = await openRedisSpace();
    id = await createActiveWebhook(space.store, 'https://example.com/hook');
  });
  afterEach(() => space.close());

  const ask = (hour: number) =>
    replayWebhook(
      space.store,
      { workspace: 'main', id },
      { afterMs: hour * 3_600_000, beforeMs: (hour + 1) * 3_600_000 },
      1,
    );
  const take = async () => {
    const owner = { processId: 'process-1', sessionMs: 60_000 };
    return (await takeWebhook(space.store, { workspace: 'main', id }, owner)) as TakenWebhook;
  };
  const goTo = async (taken: TakenWebhook, cursor: string) =>
    expect(await claimDelivery(space.store, taken, { lane: 'replay', state: { cursor }, nowMs: 1 })).to.equal(true);
  const end = async (taken: TakenWebhook) =>
    expect(await claimDelivery(space.store, taken, { lane: 'replay', state: undefined, nowMs: 1 })).to.equal(true);
  const postpone = (taken: TakenWebhook) => postponeReplay(space.store, taken);

  it('has its turn again where it was', async () => {
    for (const hour of [1, 2, 3]) await ask(hour);
    const first = await take();
    await goTo(first, '5-0');
    expect(await postpone(first)).to.equal('done');
    const second = await take();
    expect(second.replay).to.not.deep.equal(first.replay);
    expect(second.stored.replay).to.equal('');
    await end(second);
    const third = await take();
    await goTo(third, '7-0');
    expect(await postpone(third)).to.equal('waits');
    const again = await take();
    expect(again.replay).to.deep.equal(first.replay);
    expect(again.lanes.replay).to.deep.equal({ cursor: '5-0' });
    await goTo(again, '6-0');
    expect((await take()).lanes.replay).to.deep.equal({ cursor: '6-0' });
    await end(again);
    expect((await take()).lanes.replay).to.deep.equal({ cursor: '7-0' });
    const fields = await space.store.redis.hkeys(workspaceKeys(space.store.space, 'main').webhook(id));
    expect(fields.filter((field) => field.startsWith('replay:'))).to.deep.equal([]);
  });

  it('stays the first where it is the only one', async () => {
    await ask(1);
    const taken = await take();
    await goTo(taken, '5-0');
    expect(await postpone(taken)).to.equal('alone');
    expect((await take()).lanes.replay).to.deep.equal({ cursor: '5-0' });
  });

  it('is postponed only by the process that delivers, and as that has it', async () => {
    for (const hour of [1, 2]) await ask(hour);
    const taken = await take();
    expect(await postpone(taken)).to.equal('fenced');
    await goTo(taken, '5-0');
    const { stored } = taken;
    expect(await postpone({ ...taken, processId: 'process-2' })).to.equal('fenced');
    expect(await postpone({ ...taken, stored: { ...stored, replay: '{"cursor":"4-0"}' } })).to.equal('fenced');
    expect(await postpone({ ...taken, stored: { ...stored, wanted: '{}' } })).to.equal('fenced');
    const { replay, lanes } = await take();
    expect([replay, lanes.replay]).to.deep.equal([taken.replay, { cursor: '5-0' }]);
  });

  it('begins anew where it is asked for again after its end, though a process of the version before ended it', async () => {
    for (const hour of [1, 2]) await ask(hour);
    const taken = await take();
    await goTo(taken, '5-0');
    await postpone(taken);
    await end(await take());
    await space.store.redis.lpop(workspaceKeys(space.store.space, 'main').webhookReplays(id));
    await ask(1);
    const { replay, stored } = await take();
    expect(replay).to.deep.equal(taken.replay);
    expect(stored.replay).to.equal('');
  });

  it('goes on where a process of the version before is with it', async () => {
    for (const hour of [1, 2]) await ask(hour);
    const taken = await take();
    await goTo(taken, '5-0');
    await postpone(taken);
    await end(await take());
    const key = workspaceKeys(space.store.space, 'main').webhook(id);
    await space.store.redis.hset(key, 'lane:replay', '{"cursor":"6-0"}');
    expect((await take()).lanes.replay).to.deep.equal({ cursor: '6-0' });
  });
});
