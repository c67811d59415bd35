import { BUILT_IN_VERSION, BUILT_IN_VERSION_DATE_MS } from '@gateway/contracts/devices/client-version';
import { clientVersionKeys } from '@gateway/contracts/redis-keys';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { ClientVersion, setClientVersion } from '@gateway/store/fleet/client-version';
import { addVersionMetrics } from '@gateway/store/fleet/version-metrics';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import { Cluster } from 'ioredis';
import { askingTwice } from './support/asking-twice.js';

const TRIAL_MS = 100;
const NOW_MS = Date.UTC(2026, 8, 1);

describe('the version of the client', () => {
  let space: RedisSpace;
  const clientVersion = (configured?: string) =>
    new ClientVersion({ store: space.store, clock: { nowMs: () => NOW_MS }, logger, configured });

  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  it('is the one set at run time, else that of the environment, else the one built in', async () => {
    expect(await clientVersion().read()).to.include({
      ...{ version: BUILT_IN_VERSION, source: 'builtIn', isRefused: false, sinceMs: BUILT_IN_VERSION_DATE_MS },
    });
    expect(await clientVersion('2.3000.7').read()).to.include({ version: '2.3000.7', source: 'environment' });
    await setClientVersion(space.store, '2.3000.8');
    expect(await clientVersion('2.3000.7').read()).to.include({
      version: '2.3000.8',
      source: 'runtime',
      sinceMs: NOW_MS,
    });
    await setClientVersion(space.store, undefined);
    expect(await clientVersion('2.3000.7').read()).to.include({ version: '2.3000.7' });
  });

  it('is the one that was known while its node of a Cluster is away, and keeps no device of another node from logging in', async () => {
    const { store } = space;
    let isAway = true;
    const ask = async <Answer>(asked: () => Promise<Answer>) => (isAway ? new Promise<Answer>(() => {}) : asked());
    const redis = Object.assign(Object.create(Cluster.prototype), {
      hgetall: (key: string) => ask(() => store.redis.hgetall(key)),
      get: (key: string) => ask(() => store.redis.get(key)),
    });
    const deps = { store: { ...store, redis }, clock: { nowMs: () => NOW_MS }, logger, answerMs: 20 };
    const known = new ClientVersion({ ...deps, configured: '2.3000.7' });
    expect(await known.read()).to.include({ version: '2.3000.7', source: 'environment' });
    expect(await known.mayLogIn()).to.equal(true);
    await setClientVersion(store, '2.3000.8');
    isAway = false;
    await eventually(async () => (await known.read()).version === '2.3000.8');
    isAway = true;
    expect(await known.read()).to.include({ version: '2.3000.8', source: 'runtime' });
  });

  it('refused is refused for every process that has it, and for no other', async () => {
    await clientVersion('2.3000.7').noteRefusal('2.3000.7');
    expect((await clientVersion('2.3000.7').read()).isRefused).to.equal(true);
    expect((await clientVersion('2.3000.8').read()).isRefused).to.equal(false);
    await setClientVersion(space.store, '2.3000.7');
    expect((await clientVersion().read()).isRefused, 'set again on purpose').to.equal(false);
  });

  it('is known to the process that heard of it before it reads again', async () => {
    const version = clientVersion('2.3000.7');
    expect(version.known).to.equal(undefined);
    await version.noteRefusal('2.3000.7');
    await version.noteDeadline('2.3000.7', 9_000);
    expect(version.known, 'nothing was read').to.equal(undefined);
    await setClientVersion(space.store, undefined);
    const read = await version.read();
    await version.noteRefusal('2.3000.8');
    await version.noteDeadline('2.3000.8', 5_000);
    expect(version.known, 'another version').to.deep.equal(read);
    await version.noteRefusal('2.3000.7');
    await version.noteDeadline('2.3000.7', 5_000);
    expect(version.known).to.deep.equal({ ...read, isRefused: true, expiresAtMs: 5_000 });
  });

  it('is spoken of once by all processes together when it is refused, and by each when it is not any more', async () => {
    const said: [string, object | undefined][] = [];
    const say = (line: string, fields?: object) => void said.push([line, fields]);
    const speaking = { ...logger, info: say, error: say };
    const [one, two] = [1, 2].map(
      () =>
        new ClientVersion({
          ...{ store: space.store, clock: { nowMs: () => NOW_MS }, logger: speaking, configured: '2.3000.7' },
        }),
    ) as [ClientVersion, ClientVersion];
    await one.read();
    await one.noteRefusal('2.3000.7');
    await two.noteRefusal('2.3000.7');
    expect(said).to.have.length(1);
    expect(said[0]![0]).to.match(/no device logs in/);
    expect(said[0]![1]).to.include({ version: '2.3000.7' }).and.have.property('remedy');
    await two.read();
    await setClientVersion(space.store, '2.3000.8');
    for (const each of [one, two, one]) await each.read();
    const again = ['devices log in again', { version: '2.3000.8' }];
    expect(said.slice(1)).to.deep.equal([again, again]);
  });

  it('leaves nothing behind when another is set', async () => {
    const version = clientVersion('2.3000.7');
    await version.read();
    await version.noteDeadline('2.3000.7', 5_000);
    await version.noteRefusal('2.3000.7');
    await setClientVersion(space.store, '2.3000.8');
    const keys = clientVersionKeys(space.store.space);
    expect(await space.store.redis.hgetall(keys.version)).to.deep.equal({ version: '2.3000.8' });
    expect(await space.store.redis.exists(keys.refused)).to.equal(0);
    expect(await space.store.redis.exists(keys.trial)).to.equal(0);
  });

  it('refused is asked for a trial once a second, however many devices wait', async () => {
    let nowMs = NOW_MS;
    const version = new ClientVersion({ store: space.store, clock: { nowMs: () => nowMs }, logger });
    await version.noteRefusal(BUILT_IN_VERSION);
    expect(await version.mayLogIn()).to.equal(false);
    await space.store.redis.del(clientVersionKeys(space.store.space).trial);
    nowMs += 999;
    expect(await version.mayLogIn()).to.equal(false);
    nowMs += 1;
    expect(await version.mayLogIn()).to.equal(true);
  });

  it('refused is tried by the device whose claim came twice, as its first answer was lost', async () => {
    const version = new ClientVersion({ store: askingTwice(space.store), clock: { nowMs: () => NOW_MS }, logger });
    await version.noteRefusal(BUILT_IN_VERSION);
    await space.store.redis.del(clientVersionKeys(space.store.space).trial);
    expect(await version.mayLogIn()).to.equal(true);
  });

  describe('refused', () => {
    const processes = () =>
      [1, 2].map(
        () => new ClientVersion({ store: space.store, clock: { nowMs: Date.now }, logger, trialEveryMs: TRIAL_MS }),
      ) as [ClientVersion, ClientVersion];
    /** The process that a device may log in from; there is never a second one. */
    async function nextTrial(all: ClientVersion[]): Promise<ClientVersion> {
      const claims = await eventually(async () => {
        const answers = await Promise.all(all.map((each) => each.mayLogIn()));
        return answers.includes(true) && answers;
      });
      expect(claims.filter(Boolean)).to.have.length(1);
      return all[claims.indexOf(true)]!;
    }

    it('is tried by one device of one process after a while, and by another when that one is refused too', async () => {
      const all = processes();
      await all[0].noteRefusal(BUILT_IN_VERSION);
      expect(await Promise.all(all.map((each) => each.mayLogIn()))).to.deep.equal([false, false]);
      const first = await nextTrial(all);
      await first.noteRefusal(BUILT_IN_VERSION);
      await first.noteAccepted(BUILT_IN_VERSION);
      expect((await all[0].read()).isRefused, 'a login that was under way before ends no pause').to.equal(true);
      await nextTrial(all);
    });

    it('is not refused any more when the device on trial is let in', async () => {
      const all = processes();
      await all[0].noteRefusal(BUILT_IN_VERSION);
      const onTrial = await nextTrial(all);
      await all.find((each) => each !== onTrial)!.noteAccepted(BUILT_IN_VERSION);
      expect((await onTrial.read()).isRefused, 'it was not the one on trial').to.equal(true);
      await onTrial.noteAccepted(BUILT_IN_VERSION);
      for (const each of all) {
        expect((await each.read()).isRefused).to.equal(false);
        expect(await each.mayLogIn()).to.equal(true);
      }
    });
  });

  it('keeps the nearest date at which the network will refuse it, until that is taken back', async () => {
    const version = clientVersion('2.3000.7');
    const heldAfter = async (...dates: (number | undefined)[]) => {
      for (const date of dates) await version.noteDeadline('2.3000.7', date);
      return (await version.read()).expiresAtMs;
    };
    expect(await heldAfter(5_000)).to.equal(5_000);
    expect(await heldAfter(9_000, 7_000)).to.equal(5_000);
    expect(await heldAfter(4_000)).to.equal(4_000);
    expect((await clientVersion('2.3000.8').read()).expiresAtMs, 'of another version').to.equal(undefined);
    expect(await heldAfter(undefined)).to.equal(undefined);
  });

  it('tells Prometheus its age, its end, and whether it is refused', async () => {
    const version = clientVersion();
    const registry = createMetrics();
    addVersionMetrics(registry, version, () => NOW_MS);
    await version.read();
    const text = () => registry.metrics();
    expect(await text()).to.match(/gateway_client_version_age_seconds 3283200\n/);
    expect(await text()).to.not.match(/gateway_client_version_expires_timestamp_seconds\{/);
    await version.noteDeadline(BUILT_IN_VERSION, 1_800_000_000_000);
    await version.noteRefusal(BUILT_IN_VERSION);
    await version.read();
    await eventually(async () => {
      const now = await text();
      return (
        now.includes('gateway_client_version_expires_timestamp_seconds 1800000000') &&
        now.includes('gateway_client_version_refused 1')
      );
    });
  });
});
