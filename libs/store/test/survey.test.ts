import { parseMessageId } from '@gateway/contracts/ids';
import { shardKeys, surveyKeys } from '@gateway/contracts/redis-keys';
import { SHARDS, shardOf } from '@gateway/contracts/shards';
import { createMetrics } from '@gateway/runtime/process/metrics';
import type { Store } from '@gateway/store/core/store';
import { readDeviceState, recordObserved, reportObserved, requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { beatHeart } from '@gateway/store/fleet/members';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend } from '@gateway/store/sends/change-send';
import { showFleet } from '@gateway/store/survey/fleet-metrics';
import { SharedSurvey } from '@gateway/store/survey/shared-survey';
import { surveyFleet } from '@gateway/store/survey/survey-fleet';
import { endSessionOf, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { expect } from 'chai';

const NOW_MS = 1_800_000_000_000;

describe('a survey of the installation', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  const device = (name: string, workspace = 'main') => ({ workspace, device: name });

  async function accept(at: ReturnType<typeof device>, { finishAtMs = NOW_MS + 1, parts = 1 } = {}) {
    await ensureDevice(space.store, at);
    const { messageId } = await acceptSend(space.store, at, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts, owner: 't', requestId: 'r' },
      ...{ recipients: ['4915112345670', '4915112345671'], nowMs: NOW_MS, expiresAtMs: NOW_MS + 3_600_000, finishAtMs },
    });
    return messageId;
  }

  it('knows the devices of all workspaces by status and reason, as /status tells them', async () => {
    const { store } = space;
    const names = [device('never'), device('linking', 'other'), device('connected')];
    for (const each of names) await ensureDevice(store, each);
    for (const each of [names[1]!, names[2]!]) {
      await requestLink(store, each, { attemptId: 'a', method: 'qrCode', forceNew: false });
    }
    const ownership = (await takeDevice(store, names[2]!, { owner: 'a', ttlMs: 60_000 }))!;
    const { desired } = await readDeviceState(store, names[2]!);
    await recordObserved(store, ownership, {
      ...{ actedOn: desired, observed: { status: 'connected', phone: '4915112345670' }, want: 'linked' },
    });
    const { devices } = await surveyFleet(store, NOW_MS);
    expect(devices).to.have.deep.members([
      { state: 'disconnected', reason: 'never_linked', count: 1 },
      { state: 'connecting', reason: 'linking', count: 1 },
      { state: 'connected', reason: 'none', count: 1 },
    ]);
  });

  it('knows whose owner has died, and what was seen of the attempt to link that is under way', async () => {
    const { store } = space;
    const observe = async (name: string, observed: Parameters<typeof reportObserved>[3], want?: 'linked') => {
      await ensureDevice(store, device(name));
      await requestLink(store, device(name), { attemptId: 'a', method: 'qrCode', forceNew: false });
      const ownership = (await takeDevice(store, device(name), { owner: 'a', ttlMs: 60_000 }))!;
      const { desired } = await readDeviceState(store, device(name));
      await reportObserved(store, ownership, desired!, observed, want);
      return ownership;
    };
    await observe('scanned', { status: 'connecting', reason: 'scan_again' });
    await endSessionOf(store, await observe('orphan', { status: 'connected', phone: '4915112345670' }, 'linked'));
    const { devices } = await surveyFleet(store, NOW_MS);
    expect(devices).to.have.deep.members([
      { state: 'connecting', reason: 'scan_again', count: 1 },
      { state: 'connecting', reason: 'no_sender', count: 1 },
    ]);
  });

  it('knows the backlog, and what is overdue of it: not what is only long', async () => {
    const [one, two] = [device('one'), device('two', 'other')];
    for (const each of [one, two]) await ensureDevice(space.store, each);
    await accept(one, { parts: 2 });
    await accept(one, { finishAtMs: NOW_MS - 5_000 });
    const late = await accept(two, { finishAtMs: NOW_MS - 90_000 });
    const survey = () => surveyFleet(space.store, NOW_MS);
    expect(await survey()).to.include({
      ...{ backlogMessages: 8, openSends: 3, overdueSends: 2, overdueSinceMs: NOW_MS - 90_000 },
    });
    await cancelSend(space.store, two, late);
    expect(await survey()).to.include({
      backlogMessages: 6,
      openSends: 2,
      overdueSends: 1,
      overdueSinceMs: NOW_MS - 5_000,
    });
  });

  it('counts nothing as overdue that an older version has ended, which knew nothing of promises', async () => {
    const at = device('one');
    const messageId = await accept(at, { finishAtMs: NOW_MS - 5_000 });
    const { promised, devices } = shardKeys(space.store.space, shardOf(at));
    await cancelSend(space.store, at, messageId);
    await space.store.redis.zadd(promised, NOW_MS - 5_000, `main/one/${parseMessageId(messageId)!.tag}`);
    await space.store.redis.sadd(devices, 'main/one');
    expect(await surveyFleet(space.store, NOW_MS))
      .to.include({ overdueSends: 0 })
      .and.not.to.have.property('overdueSinceMs');
    expect(await space.store.redis.zcard(promised)).to.equal(0);
  });

  it('counts as overdue what only another version can end, and not what is gone', async () => {
    const at = device('one');
    await ensureDevice(space.store, at);
    const messageId = await accept(at, { finishAtMs: NOW_MS - 5_000 });
    await rewriteHead(space.store, at, messageId, { version: 99, state: 1 });
    const { promised } = shardKeys(space.store.space, shardOf(at));
    await space.store.redis.zadd(promised, NOW_MS - 9_000, 'main/one/0000000000000');
    expect(await surveyFleet(space.store, NOW_MS)).to.include({ overdueSends: 1, overdueSinceMs: NOW_MS - 5_000 });
  });

  it('knows how many senders live, and how many devices they hold and may hold', async () => {
    for (const [id, held] of [
      ['a', 3],
      ['b', 4],
    ] as const) {
      await beatHeart(space.store, { self: { id, held, capacity: 10 }, ttlMs: 60_000 });
    }
    expect(await surveyFleet(space.store, NOW_MS)).to.include({ senders: 2, heldDevices: 7, capacityDevices: 20 });
  });

  /** A store, and how many shards were looked at by it. */
  function countSurveys(): { store: Store; surveyed: () => number } {
    let count = 0;
    const run: Store['run'] = (name, ...rest) => {
      if (name === 'survey-shard') count++;
      return space.store.run(name, ...rest);
    };
    return { store: { ...space.store, run }, surveyed: () => count };
  }

  it('is made once for all processes and scrapes of some seconds, and then again', async () => {
    let nowMs = NOW_MS;
    const { store, surveyed } = countSurveys();
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
    const processes = Array.from({ length: 3 }, () => new SharedSurvey({ store, clock }));
    await processes[0]!.read();
    const seen = await Promise.all([...processes, ...processes].map((each) => each.read()));
    expect(new Set(seen.map((each) => each?.atMs))).to.deep.equal(new Set([NOW_MS]));
    expect(surveyed()).to.equal(SHARDS);
    nowMs += 11_000;
    await space.store.redis.del(surveyKeys(space.store.space).turn);
    await processes[1]!.read();
    expect([surveyed(), processes[1]!.known!.atMs]).to.deep.equal([2 * SHARDS, nowMs]);
  });

  it('is made again at once where the clock of Redis was ahead when it was made, by one of those who ask', async () => {
    const { survey, turn } = surveyKeys(space.store.space);
    const atMs = { now: NOW_MS + 3_600_000, monotonic: 0 };
    const clock = { nowMs: () => atMs.now, monotonicMs: () => atMs.monotonic };
    const { store, surveyed } = countSurveys();
    const processes = Array.from({ length: 3 }, () => new SharedSurvey({ store, clock }));
    await processes[0]!.read();
    for (const key of [survey, turn]) await space.store.redis.pexpire(key, 3_600_000);
    atMs.now = NOW_MS;
    const readAll = () => {
      atMs.monotonic += 6_000;
      return Promise.all(processes.map((each) => each.read()));
    };
    expect((await readAll()).map((each) => each?.atMs)).to.include(NOW_MS);
    expect(surveyed()).to.equal(2 * SHARDS);
    expect(await space.store.redis.pttl(turn)).to.be.at.most(1_500);
    expect((await readAll()).map((each) => each?.atMs)).to.deep.equal(Array(3).fill(NOW_MS));
  });

  it('shows no numbers of the installation before it has any: totals that began with 0 would seem to rise by all that was ever sent', async () => {
    const registry = createMetrics();
    showFleet(registry, { read: async () => undefined }, { nowMs: () => NOW_MS });
    expect(await registry.metrics()).not.to.match(/^gateway_/m);
  });

  it('keeps its last numbers without Redis, and tells their age', async () => {
    const registry = createMetrics();
    await accept(device('one'));
    const survey = await surveyFleet(space.store, NOW_MS);
    showFleet(registry, { read: async () => survey }, { nowMs: () => NOW_MS + 42_000 });
    const text = await registry.metrics();
    expect(text).to.include('gateway_recipients_accepted_total{kind="text"} 2\n');
    expect(text).to.include('gateway_recipients{kind="text",status="queued"} 2\n');
    expect(text).to.include('gateway_fleet_survey_age_seconds 42\n');
    const ahead = createMetrics();
    showFleet(ahead, { read: async () => survey }, { nowMs: () => NOW_MS - 42_000 });
    expect(await ahead.metrics(), 'of a clock that was ahead').to.include('gateway_fleet_survey_age_seconds 42\n');
  });
});
