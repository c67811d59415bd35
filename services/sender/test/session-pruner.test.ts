import { deviceKeys } from '@gateway/contracts/redis-keys';
import { contactOfSession } from '@gateway/messenger/keys/contact-of-session';
import { FencedError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { SessionPruner } from '@gateway/sender/device/session-pruner';
import { deviceKeyStore, readAllKeys } from '@gateway/store/devices/keys/device-keys';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'a' };
const DAY_MS = 86_400_000;
const BUCKETS = 256;

describe('sessions with contacts', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  let nowMs: number;
  let monotonicMs: number;
  let pruner: SessionPruner;
  /** In the log. */
  let told: string[];

  beforeEach(async () => {
    space = await openRedisSpace();
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    [nowMs, monotonicMs] = [Date.now(), 0];
    const clock = { nowMs: () => nowMs, monotonicMs: () => monotonicMs };
    told = [];
    const logger = {
      ...createLogger({ service: 'test', level: 'error' }),
      info: (line: string, fields?: object) => void told.push(`${line} ${JSON.stringify(fields)}`),
    };
    pruner = new SessionPruner({ store: space.store, ownership, clock, logger, device: { account: '4900' } });
  });
  afterEach(() => space.close());

  const keyOf = (type: string, id: string, value: unknown = `${type} of ${id}`) => ({
    ...{ type, id },
    value: Buffer.from(JSON.stringify(value)),
  });
  const pairOf = (number: string, lid: string) => [
    keyOf('lid-mapping', number, lid),
    keyOf('lid-mapping', `${lid}_reverse`, number),
  ];
  const commit = (...keys: [type: string, id: string][]) =>
    deviceKeyStore(space.store, ownership).commit({ keys: keys.map(([type, id]) => keyOf(type, id)) });
  async function keysLeft(): Promise<string[]> {
    const left: string[] = [];
    for await (const { type, id } of readAllKeys(space.store, address)) left.push(`${type} ${id}`);
    return left.sort();
  }
  async function idsLeft(type: string): Promise<string[]> {
    const buckets = await space.clients.commands.keys(`${deviceKeys(space.store.space, address).base}:keys:${type}:*`);
    return (await Promise.all(buckets.map((bucket) => space.clients.commands.hkeys(bucket)))).flat();
  }
  async function keysLeftByName(): Promise<string[]> {
    const types = ['session', 'tctoken', 'lid-mapping', 'device-list'];
    const left = await Promise.all(types.map(async (type) => (await idsLeft(type)).map((id) => `${type} ${id}`)));
    return left.flat().sort();
  }
  /** What is written from now on is written 35 days later; it cannot be opened, as its day is sealed with it. */
  function writeLater(): void {
    const { vault } = space.store;
    space.store.vault = { ...vault, seal: (...what) => later(vault.seal(...what)) };
  }
  /** Of all lines, each of which says how many. */
  const sumOf = (line: string, field: string) =>
    told
      .filter((each) => each.startsWith(`${line} `))
      .reduce((sum, each) => sum + Number(JSON.parse(each.slice(line.length + 1))[field]), 0);
  const minutes = async (count: number) => {
    for (let i = 0; i < count; i++) {
      monotonicMs += 60_000;
      await pruner.tick();
    }
  };

  it('are forgotten after 30 days without a message, with all that was kept about the contact', async () => {
    const { contactIndex } = deviceKeys(space.store.space, address);
    await deviceKeyStore(space.store, ownership).commit({
      creds: '{}',
      keys: [
        ...['1_1.0', '1_1.7', '4915.0'].flatMap((id) => [keyOf('session', id), keyOf('identity-key', id)]),
        ...['1@lid', '4915@s.whatsapp.net'].map((id) => keyOf('tctoken', id)),
        ...[keyOf('pre-key', '1'), keyOf('app-state-sync-key', 'x'), keyOf('sender-key', '1@g.us::1_1::0')],
      ],
      contacts: ['1@lid', '2@lid'],
    });
    const before = await keysLeft();
    nowMs += 30 * DAY_MS;
    await minutes(BUCKETS);
    expect(await keysLeft(), 'used on the first of the 30 days').to.deep.equal(before);
    expect(told).to.deep.equal([]);
    nowMs += DAY_MS;
    await minutes(BUCKETS);
    expect(await keysLeft()).to.deep.equal(['app-state-sync-key x', 'pre-key 1']);
    expect(sumOf('unused sessions deleted', 'sessions')).to.equal(3);
    expect(sumOf('identities without a session deleted', 'identities'), 'beside those of sessions').to.equal(0);
    expect(sumOf('unused group keys deleted', 'keys')).to.equal(1);
    expect(told.filter((line) => line.includes(':0'))).to.deep.equal([]);
    expect(await space.clients.commands.smembers(contactIndex)).to.deep.equal(['2@lid']);
    expect(await deviceKeyStore(space.store, ownership).readCreds()).to.equal('{}');
  });

  it('take the names of their people along, and the names of those who were only looked up go as late', async () => {
    const keys = deviceKeyStore(space.store, ownership);
    const people = [pairOf('4911', '1'), pairOf('4912', '2'), pairOf('4900', '9')].flat();
    await keys.commit({
      keys: [
        ...people,
        keyOf('session', '1_1.0'),
        keyOf('device-list', '4913', ['0']),
        keyOf('device-list', '4914', ['0']),
      ],
    });
    // Two of them have written, or were written to, since.
    writeLater();
    await keys.commit({ keys: [keyOf('tctoken', '2@lid'), keyOf('session', '4914.0')], contacts: ['2@lid'] });
    nowMs += 30 * DAY_MS;
    await minutes(BUCKETS);
    expect(await keysLeftByName(), 'used on the first of the 30 days').to.have.length(11);
    nowMs += DAY_MS;
    await minutes(2 * BUCKETS);
    const own = ['lid-mapping 4900', 'lid-mapping 9_reverse'];
    expect(sumOf('number mappings without a session deleted', 'names')).to.be.above(0);
    expect(await keysLeftByName()).to.deep.equal(
      [
        'device-list 4914',
        'lid-mapping 2_reverse',
        'lid-mapping 4912',
        'session 4914.0',
        'tctoken 2@lid',
        ...own,
      ].sort(),
    );
    nowMs += 35 * DAY_MS;
    await minutes(2 * BUCKETS);
    expect(await keysLeftByName(), 'those of the account itself').to.deep.equal(own);
    const { contactIndex } = deviceKeys(space.store.space, address);
    expect(await space.clients.commands.smembers(contactIndex)).to.deep.equal([]);
  });

  it('are not needed for the identity of someone to go: one without a session goes as late', async () => {
    await commit(
      ['identity-key', '4915.0'],
      ['identity-key', '4916.0'],
      ['session', '4916.0'],
      ['identity-key', '7_1.3'],
    );
    // Someone has a session again, or a new identity.
    writeLater();
    await commit(['session', '4916.0'], ['identity-key', '7_1.3']);
    nowMs += 30 * DAY_MS;
    await minutes(BUCKETS);
    expect(await idsLeft('identity-key'), 'seen on the first of the 30 days').to.have.length(3);
    nowMs += DAY_MS;
    await minutes(BUCKETS);
    expect((await idsLeft('identity-key')).sort()).to.deep.equal(['4916.0', '7_1.3']);
    expect(told).to.deep.equal(['identities without a session deleted {"identities":1}']);
  });

  it('leave names behind that cannot be opened: another process may know their key', async () => {
    await deviceKeyStore(space.store, ownership).commit({ keys: [...pairOf('4911', '1'), ...pairOf('4912', '2')] });
    const { base } = deviceKeys(space.store.space, address);
    for (const bucket of await space.clients.commands.keys(`${base}:keys:lid-mapping:*`)) {
      const sealed = await space.clients.commands.hgetBuffer(bucket, '1_reverse');
      if (sealed) await space.clients.commands.hset(bucket, '1_reverse', sealed.subarray(0, -1));
    }
    nowMs += 40 * DAY_MS;
    await minutes(BUCKETS);
    expect(await idsLeft('lid-mapping')).to.deep.equal(['1_reverse']);
  });

  it('stay when there was a message, and each is looked at however many there are', async () => {
    const ids = Array.from({ length: 3_000 }, (_, i) => `${i}_1.0`);
    await commit(...ids.map((id) => ['session', id] as [string, string]));
    // A message in the days between: its write says so.
    writeLater();
    await commit(['session', '17_1.0']);
    nowMs += 40 * DAY_MS;
    await minutes(2 * BUCKETS);
    expect(await idsLeft('session')).to.deep.equal(['17_1.0']);
  });

  it('leave a privacy token behind that is younger, with its place in the index', async () => {
    const { contactIndex } = deviceKeys(space.store.space, address);
    await commit(['session', '1_1.0'], ['session', '2_1.0']);
    const tokens = ['1@lid', '2@lid'];
    await deviceKeyStore(space.store, ownership).commit({ keys: [keyOf('tctoken', '2@lid')], contacts: tokens });
    writeLater();
    await commit(['tctoken', '1@lid']);
    nowMs += 40 * DAY_MS;
    await minutes(BUCKETS);
    expect(await idsLeft('session')).to.deep.equal([]);
    expect(await idsLeft('tctoken')).to.deep.equal(['1@lid']);
    expect(await space.clients.commands.smembers(contactIndex)).to.deep.equal(['1@lid']);
  });

  it('are looked at a bucket a minute: bounded work, whatever the number of ticks', async () => {
    await commit(...Array.from({ length: 600 }, (_, i) => ['session', `${i}_1.0`] as [string, string]));
    nowMs += 40 * DAY_MS;
    for (let i = 0; i < 100; i++) await pruner.tick();
    expect(await keysLeft()).to.have.length(600);
    await minutes(10);
    expect((await keysLeft()).length).to.be.within(500, 600);
  });

  it('are not touched by a stale owner', async () => {
    await commit(...Array.from({ length: 1_000 }, (_, i) => ['session', `${i}_1.0`] as [string, string]));
    await giveDeviceBack(space.store, ownership);
    nowMs += 40 * DAY_MS;
    expect(await minutes(BUCKETS).catch((thrown: unknown) => thrown)).to.be.instanceOf(FencedError);
    expect(await keysLeft()).to.have.length(1_000);
  });

  it('belong to the phone of a contact, or to another of their devices', () => {
    expect(contactOfSession('123_1.0')).to.equal('123@lid');
    expect(contactOfSession('4915.0')).to.equal('4915@s.whatsapp.net');
    for (const id of ['123_1.5', '4915.12', '123_128.0', 'x', '']) expect(contactOfSession(id)).to.equal(undefined);
  });
});

/** The same value, sealed 35 days later: the two bytes behind the key's name. */
function later(sealed: Buffer): Buffer {
  const at = 2 + sealed[1]!;
  sealed.writeUInt16BE(sealed.readUInt16BE(at) + 35, at);
  return sealed;
}
