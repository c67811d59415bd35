import { EVENT_ENTRY_VERSION, PLACE } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { eventWorkspacesKey, outboxChannel, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { addEventsMetrics } from '@gateway/events/events-metrics';
import { Relay } from '@gateway/events/relay/relay';
import { GatewayError } from '@gateway/runtime/errors';
import { createMetrics } from '@gateway/runtime/process/metrics';
import type { Store } from '@gateway/store/core/store';
import { listEventWorkspaces, openEvents } from '@gateway/store/events/open-events';
import { closeUnwanted } from '@gateway/store/events/opening/close-events';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
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
  type Times = { tickMs?: number; gatherMs?: number; againMs?: number };
  async function start(times: Times = { tickMs: 20 }, store: Store = space.store) {
    const registry = createMetrics();
    const metrics = addEventsMetrics(registry);
    const bells = space.clients.subscriber;
    relay = await Relay.start({ ...{ store, bells, metrics, ...times }, logger: silentLogger });
    return async (name: string, cause?: string) => {
      const { values } = await registry.getSingleMetric(name)!.get();
      return values.find(({ labels }) => cause === undefined || labels.cause === cause)!.value;
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

  it('lets nothing that cannot wait gather behind what can, however much that is', async () => {
    await start({ tickMs: HOUR_MS, gatherMs: HOUR_MS });
    await openEvents(space.store, 'a');
    const { redis, space: keys } = space.store;
    const list = Buffer.from([EVENT_ENTRY_VERSION, 0, 0, 0, 0, 0, 0, PLACE.lists]);
    const adding = redis.pipeline();
    for (let n = 0; n < 1_100; n++) adding.xadd(outboxOf('a'), '*', 'e', list);
    await adding.xadd(outboxOf('a'), '*', 'e', ENTRY).exec();
    await redis.publish(outboxChannel(keys), 'a/0');
    await eventually(async () => (await redis.xlen(outboxOf('a'))) === 0);
  });

  it('fetches what lists have to tell without another bell', async () => {
    await start({ tickMs: HOUR_MS });
    await write('a');
    await space.store.redis.publish(outboxChannel(space.store.space), 'a/0/lists');
    await eventually(async () => (await space.store.redis.xlen(outboxOf('a'))) === 0);
  });

  it('looks again soon, without a bell, when replicas did not confirm what the log got', async () => {
    const { redis } = space.store;
    await openEvents(space.store, 'a');
    let confirmations = 0;
    const { eventLog } = workspaceKeys(space.store.space, 'a');
    const confirmWrites = async (key: string) => {
      if (key !== eventLog || ++confirmations > 2) return;
      // What comes behind what was not trimmed rings no bell.
      await redis.xadd(outboxOf('a'), '*', 'e', ENTRY);
      throw new GatewayError({ code: 'not_confirmed', message: 'no replica' });
    };
    const read = await start({ tickMs: HOUR_MS, againMs: 1 }, { ...space.store, confirmWrites });
    await redis.xadd(outboxOf('a'), '*', 'e', ENTRY);
    await redis.publish(outboxChannel(space.store.space), 'a/0');
    await eventually(async () => (await redis.xlen(outboxOf('a'))) === 0);
    expect(await redis.xlen(eventLog)).to.equal(3);
    expect(await read('gateway_events_relay_failures_total')).to.equal(2);
    expect(await read('gateway_events_relayed_total'), 'also those that were not confirmed').to.equal(3);
  });

  it('looks again soon, without a bell, when the log could not be written, as in a failover', async () => {
    const { redis } = space.store;
    await openEvents(space.store, 'a');
    let failures = 0;
    const run: Store['run'] = async (name, ...rest) => {
      if (name !== 'append-events' || ++failures > 3) return space.store.run(name, ...rest);
      // What comes behind what is left there rings no bell.
      await redis.xadd(outboxOf('a'), '*', 'e', ENTRY);
      throw new Error('CLUSTERDOWN The cluster is down');
    };
    const read = await start({ tickMs: HOUR_MS, againMs: 1 }, { ...space.store, run });
    await redis.xadd(outboxOf('a'), '*', 'e', ENTRY);
    await redis.publish(outboxChannel(space.store.space), 'a/0');
    await eventually(async () => (await redis.xlen(outboxOf('a'))) === 0, { timeoutMs: 10_000 });
    expect(await redis.xlen(workspaceKeys(space.store.space, 'a').eventLog)).to.equal(4);
    expect(await read('gateway_events_relay_failures_total')).to.equal(3);
  });

  it('puts those on the list whose events someone wants: at a bell, or when it looks at all workspaces', async () => {
    const { redis, space: keys } = space.store;
    const lose = (workspace: Workspace) => redis.srem(eventWorkspacesKey(keys), workspace);
    await createWorkspace(space.store, 'b');
    for (const workspace of ['a', 'b', 'c']) {
      await openEvents(space.store, workspace);
      await lose(workspace);
    }
    await closeUnwanted(space.store, 'c', Number.MAX_SAFE_INTEGER);
    await start({ tickMs: HOUR_MS });
    await eventually(async () => expect(await listEventWorkspaces(space.store)).to.deep.equal(['b']));
    for (const workspace of ['a', 'c']) await redis.publish(outboxChannel(keys), `${workspace}/0`);
    await eventually(async () => expect((await listEventWorkspaces(space.store)).sort()).to.deep.equal(['a', 'b']));
    await relay!.stop();
    expect((await listEventWorkspaces(space.store)).sort(), 'no one wants others').to.deep.equal(['a', 'b']);
  });

  it('clears away an outbox that someone made, and died, while others ended the events', async () => {
    const { redis, space: keys } = space.store;
    await start({ tickMs: HOUR_MS });
    for (const [workspace, ends] of [
      ['a', false],
      ['b', true],
    ] as const) {
      await openEvents(space.store, workspace);
      if (ends) await closeUnwanted(space.store, workspace, Number.MAX_SAFE_INTEGER);
      await redis.srem(eventWorkspacesKey(keys), workspace);
      await redis.xadd(outboxOf(workspace), '*', 'e', ENTRY);
      await redis.publish(outboxChannel(keys), `${workspace}/0`);
    }
    await eventually(async () => expect(await redis.exists(outboxOf('b'))).to.equal(0));
    await eventually(async () => expect(await listEventWorkspaces(space.store)).to.deep.equal(['a']));
    expect([await redis.exists(outboxOf('a')), await redis.xlen(outboxOf('a'))]).to.deep.equal([1, 0]);
  });

  it('tells of a gap where an outbox was lost, and counts it', async () => {
    const { redis } = space.store;
    const { eventLog } = workspaceKeys(space.store.space, 'a');
    await openEvents(space.store, 'a');
    await redis.del(outboxOf('a'));
    const read = await start({ tickMs: HOUR_MS });
    await eventually(async () => (await redis.xlen(eventLog)) === 1, { what: 'the gap, whose bell rang' });
    await eventually(async () => (await read('gateway_events_gaps_total', 'outbox_lost')) === 1);
  });

  it('cuts the log of a workspace in which nothing happens, or only what comes into it without a relay', async () => {
    const { redis } = space.store;
    for (const workspace of ['a', 'b']) {
      const { eventLog } = workspaceKeys(space.store.space, workspace);
      await openEvents(space.store, workspace);
      await redis.del(eventLog);
      for (const id of ['1000-0', '1000-1']) await redis.xadd(eventLog, id, 'e', ENTRY);
    }
    await addOptOuts(space.store, 'b', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    await start();
    await eventually(async () => {
      for (const [workspace, left] of [
        ['a', 0],
        ['b', 1],
      ] as const) {
        const { eventLog, eventMarks } = workspaceKeys(space.store.space, workspace);
        expect([await redis.xlen(eventLog), await redis.hget(eventMarks, 'goneTo')]).to.deep.equal([left, '1000-1']);
      }
      return true;
    });
  });

  it('looks around for all others while the node of one workspace does not answer', async () => {
    const { store } = space;
    for (const workspace of ['a', 'b']) await openEvents(store, workspace);
    // Its own keys, and one of its outboxes.
    const away = [workspaceKeys(store.space, 'a').eventLog.replace(/\}.*/, '}'), shardKeys(store.space, 1).outbox('a')];
    const isOfA = (keys: readonly string[]) => keys.some((key) => away.some((beginning) => key.startsWith(beginning)));
    let answer: (() => void) | undefined;
    const silence = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const run: typeof store.run = async (name, keys, args) => {
      if (isOfA(keys)) await silence;
      return store.run(name, keys, args);
    };
    const call = async (...args: [string, ...string[]]) => {
      if (isOfA(args)) await silence;
      return store.redis.call(...args);
    };
    await start({ tickMs: 20 }, { ...store, run, redis: Object.create(store.redis, { call: { value: call } }) });
    try {
      for (let n = 1; n <= 3; n++) {
        await store.redis.xadd(outboxOf('b'), '*', 'e', ENTRY);
        const { eventLog } = workspaceKeys(store.space, 'b');
        await eventually(async () => (await store.redis.xlen(eventLog)) === n, { what: `event ${n}, without a bell` });
      }
    } finally {
      answer!();
    }
  });

  it('goes on with what rings while the node of the list does not answer', async () => {
    const { store } = space;
    await openEvents(store, 'a');
    let answer: (() => void) | undefined;
    const silence = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const list = eventWorkspacesKey(store.space);
    const held = (name: 'smembers' | 'sismember') => {
      const ask = store.redis[name].bind(store.redis) as (...args: unknown[]) => Promise<unknown>;
      const value = async (...args: unknown[]) => {
        if (args[0] === list) await silence;
        return ask(...args);
      };
      return { value };
    };
    const redis = Object.create(store.redis, { smembers: held('smembers'), sismember: held('sismember') });
    await start({ tickMs: 20 }, { ...store, redis });
    try {
      const { eventLog } = workspaceKeys(store.space, 'a');
      for (let n = 1; n <= 3; n++) {
        await store.redis.xadd(outboxOf('a'), '*', 'e', ENTRY);
        await store.redis.publish(outboxChannel(store.space), 'a/0');
        await eventually(async () => (await store.redis.xlen(eventLog)) === n, { what: `event ${n}` });
      }
    } finally {
      answer!();
    }
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
