import type { Workspace } from '@gateway/contracts/ids';
import { outboxChannel, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { addEventsMetrics } from '@gateway/events/events-metrics';
import { Relay } from '@gateway/events/relay/relay';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { openEvents } from '@gateway/store/events/open-events';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

/** Of the workspace, a moment of long ago, without a part. */
const ENTRY = Buffer.from([1, 0, 0, 0, 0, 0, 0, 1, 0]);
const HOUR_MS = 3_600_000;

describe('a relay', () => {
  let space: RedisSpace;
  let relay: Relay | undefined;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(async () => {
    await relay?.stop();
    await space.close();
  });

  const outboxOf = (workspace: Workspace) => shardKeys(space.store.space, 0).outbox(workspace);
  /** As if written an hour ago, by a bell that no one heard. */
  async function write(workspace: Workspace): Promise<void> {
    await openEvents(space.store, workspace);
    await space.store.redis.del(outboxOf(workspace));
    await space.store.redis.xadd(outboxOf(workspace), `${Date.now() - HOUR_MS}-0`, 'e', ENTRY);
  }
  async function start(times: { tickMs?: number; gatherMs?: number } = { tickMs: 20 }) {
    const registry = createMetrics();
    const metrics = addEventsMetrics(registry);
    const bells = space.clients.subscriber;
    relay = await Relay.start({ ...{ store: space.store, bells, metrics, ...times }, logger: silentLogger });
    return async (name: string) => {
      const { values } = (await registry.getSingleMetric(name)!.get()) as { values: { value: number }[] };
      return values[0]!.value;
    };
  }

  it('empties the outboxes of all workspaces whatever is wrong with one, and tells how late that one is', async () => {
    const workspaces = ['a', 'b', 'c'];
    for (const workspace of workspaces) await write(workspace);
    const { eventLog } = workspaceKeys(space.store.space, 'b');
    await space.store.redis.del(eventLog);
    await space.store.redis.set(eventLog, 'no log');
    const read = await start();
    const lengths = () => Promise.all(workspaces.map((workspace) => space.store.redis.xlen(outboxOf(workspace))));
    await eventually(async () => {
      expect(await lengths()).to.deep.equal([0, 1, 0]);
      expect(await read('gateway_events_relay_failures_total')).to.be.above(0);
      expect(await read('gateway_events_outbox_age_seconds')).to.be.within(3_600, 3_700);
      expect(await read('gateway_events_outboxes')).to.equal(1);
      return true;
    });
  });

  it('lets what lists have to tell gather, until something cannot wait, or it is to stop', async () => {
    const HOURS = { tickMs: HOUR_MS, gatherMs: HOUR_MS };
    const { store } = space;
    const ring = (text: string) => store.redis.publish(outboxChannel(store.space), text);
    const waits = () => store.redis.xlen(outboxOf('a'));
    const read = await start(HOURS);
    await eventually(async () => (await read('gateway_events_outboxes')) === 0);
    await write('a');
    await write('b');
    await ring('a/0/lists');
    await ring('a/0/lists');
    await ring('b/0');
    await eventually(async () => (await store.redis.xlen(outboxOf('b'))) === 0);
    expect(await waits()).to.equal(1);
    await ring('a/0');
    await eventually(async () => (await waits()) === 0);
    await write('a');
    await ring('a/0/lists');
    await relay!.stop();
    expect(await waits(), 'of another relay').to.equal(1);
  });

  it('fetches what lists have to tell without another bell', async () => {
    await start({ tickMs: HOUR_MS });
    await write('a');
    await space.store.redis.publish(outboxChannel(space.store.space), 'a/0/lists');
    await eventually(async () => (await space.store.redis.xlen(outboxOf('a'))) === 0);
  });

  it('counts a gap that it tells, and how full the fullest outbox is', async () => {
    await write('a');
    const { redis } = space.store;
    const { eventLog } = workspaceKeys(space.store.space, 'a');
    for (let n = 1; n < 5; n++) await redis.xadd(outboxOf('a'), `${Date.now() - HOUR_MS}-${n}`, 'e', ENTRY);
    await redis.set(`${outboxOf('a')}:missing`, 7);
    // Nothing comes out of it until there is a log again.
    await redis.rename(eventLog, `${eventLog}:aside`);
    await redis.set(eventLog, 'no log');
    const read = await start();
    await eventually(async () => (await read('gateway_events_outbox_entries')) === 5);
    expect(await read('gateway_events_gaps_total')).to.equal(0);
    await redis.rename(`${eventLog}:aside`, eventLog);
    await eventually(async () => {
      expect(await read('gateway_events_gaps_total')).to.equal(1);
      expect(await redis.xlen(eventLog)).to.equal(6);
      return true;
    });
  });
});
