import { deviceKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { LinkedDevices } from '@gateway/fleet/linked-devices';
import { ShardWatch } from '@gateway/fleet/shard-watch';
import { createLogger } from '@gateway/runtime/logs/logger';
import { DoorbellListener, ringDoorbell } from '@gateway/store/core/doorbells';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { eventually } from '@gateway/testkit/eventually';
import { endSessionOf, giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const logger = { ...createLogger({ service: 'test', level: 'error' }), warn: () => {} };
const named = (device: string) => ({ workspace: 'main', device });

describe('what a process knows of linked devices', () => {
  let space: RedisSpace;
  let doorbells: DoorbellListener;
  let linked: LinkedDevices;
  let watch: ShardWatch;
  let looks: number;
  let lastArguments: readonly unknown[];
  let monotonicMs: number;
  /** Before each look. */
  let meanwhile: () => Promise<void>;

  beforeEach(async () => {
    space = await openRedisSpace();
    [looks, monotonicMs, meanwhile] = [0, 0, async () => {}];
    doorbells = await DoorbellListener.listen(space.clients.subscriber, space.store.space);
    linked = new LinkedDevices({ nowMs: Date.now, monotonicMs: () => monotonicMs });
  });
  afterEach(async () => {
    await watch.stop();
    doorbells.close();
    await space.close();
  });

  async function start(roundMs = 3_600_000): Promise<void> {
    const run: RunScript = async (name, keys, args) => {
      await meanwhile();
      looks += 1;
      lastArguments = args;
      return space.store.run(name, keys, args);
    };
    const store = { ...space.store, run };
    const onSeen = (...seen: Parameters<LinkedDevices['keep']>) => void linked.keep(...seen);
    watch = new ShardWatch({ store, logger, doorbells, roundMs, onSeen });
    await eventually(() => looks >= 64);
  }
  async function link(device: string, { want = 'linked', workspace = 'main' } = {}): Promise<void> {
    const address = { workspace, device };
    await ensureDevice(space.store, address);
    await requestLink(space.store, address, { attemptId: 'x', method: 'qrCode', forceNew: false });
    await space.store.redis.hset(deviceKeys(space.store.space, address).desired, 'want', want);
  }
  const hold = async (device: string, owner: string) =>
    (await takeDevice(space.store, named(device), { owner, ttlMs: 60_000 }))!;
  const ownerOf = (device: string) => linked.ownerOf(named(device));

  it('is who owns those of all workspaces, and which have no owner that lives', async () => {
    await Promise.all([link('one'), link('two'), link('three'), link('parked', { want: 'parked' })]);
    await Promise.all([link('linking', { want: 'linking' }), link('other', { workspace: 'other' })]);
    await hold('one', 'a');
    await endSessionOf(space.store, await hold('two', 'b'));
    await start();
    await eventually(() => linked.orphans().length === 3);
    const other = { workspace: 'other', device: 'other' };
    expect(linked.orphans()).to.have.deep.members([named('two'), named('three'), other]);
    expect(ownerOf('one')).to.equal('a');
  });

  it('is told by doorbells, of a device that calls during a look, too', async () => {
    await link('one');
    const ownership = await hold('one', 'a');
    await start();
    await giveDeviceBack(space.store, ownership);
    let isFirst = true;
    meanwhile = async () => {
      if (!isFirst) return;
      isFirst = false;
      await link('two');
      await ringDoorbell(space.store, { topic: 'desired', ...named('two') });
    };
    await ringDoorbell(space.store, { topic: 'owner', ...named('one') });
    await eventually(() => linked.orphans().length === 2);
    expect(looks, 'one look for each that called').to.be.at.most(66);
  });

  it('is found without a doorbell within a round, after a look that failed, too', async () => {
    await link('one');
    await start(200);
    await link('two');
    meanwhile = async () => {
      meanwhile = async () => {};
      throw new Error('Redis is away');
    };
    await eventually(() => linked.orphans().length === 2);
  });

  it('is read again when doorbells may have been lost with the connection', async () => {
    await start();
    await link('one');
    space.clients.subscriber.disconnect(true);
    await eventually(() => linked.orphans().length === 1);
  });

  it('costs nothing for devices that nothing happens to: of a shard those are read that call', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `phone-${i}`);
    await Promise.all(names.map((name) => link(name)));
    await start();
    await eventually(() => linked.orphans().length === 20);
    await hold('phone-1', 'a');
    await ringDoorbell(space.store, { topic: 'owner', ...named('phone-1') });
    await eventually(() => ownerOf('phone-1') === 'a');
    expect([looks, lastArguments.slice(2)]).to.deep.equal([65, ['main/phone-1']]);
    expect(linked.orphans()).to.have.deep.members(names.filter((name) => name !== 'phone-1').map(named));
    await space.store.redis.hset(deviceKeys(space.store.space, named('phone-2')).desired, 'want', 'unlinked');
    await ringDoorbell(space.store, { topic: 'desired', ...named('phone-2') });
    await eventually(() => linked.size === 19);
  });

  it('says who is late, and which shards have a device without an owner that is a member', async () => {
    await Promise.all([link('one'), link('two')]);
    const ownership = await hold('one', 'a');
    await start();
    const [one, two] = [shardOf(named('one')), shardOf(named('two'))];
    await eventually(() => linked.orphans().length === 1 && ownerOf('one') === 'a');
    expect(linked.doubtfulShards(new Set(['b']))).to.have.members([one, two]);
    expect(linked.doubtfulShards(new Set(['a']))).to.deep.equal([two]);
    // Of many the next ones, so that each has its turn.
    const inTurn = [1, 2, 3].flatMap(() => linked.doubtfulShards(new Set(['b']), 1));
    expect(inTurn).to.have.length(3);
    expect(inTurn).to.include.members([one, two]);
    expect(linked.doubtfulShards(new Set(['b']), 2)).to.have.members([one, two]);
    monotonicMs = 4_999;
    await giveDeviceBack(space.store, ownership);
    await ringDoorbell(space.store, { topic: 'owner', ...named('one') });
    await eventually(() => linked.orphans().length === 2);
    monotonicMs = 5_000;
    expect([linked.isLate(named('one')), linked.isLate(named('two'))]).to.deep.equal([false, true]);
  });
});
