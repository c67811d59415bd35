import { allScripts } from '@gateway/testkit/redis-servers/all-scripts';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

/** What single steps promise, where their callers can hardly be brought to the moment that it is about. */
describe('a step in Redis', () => {
  let space: RedisSpace;
  let key: (name: string) => string;
  before(allScripts);
  beforeEach(async () => {
    space = await openRedisSpace();
    key = (name) => `${space.prefix}:{slot}:${name}`;
  });
  afterEach(() => space.close());
  const run = (script: string, names: string[], args: (string | number)[]) =>
    space.store.run(script, names.map(key), args);
  const redis = () => space.clients.commands;

  it('closes no idempotency key that stands for a send by now', async () => {
    await redis().hset(key('repeat'), 'messageId', 'msg_1');
    await redis().hset(key('device'), 'idKey', 'k');
    expect(await run('close-repeat', ['repeat', 'device'], [60_000])).to.equal(0);
    expect(await redis().hgetall(key('repeat'))).to.deep.equal({ messageId: 'msg_1' });
  });

  it('claims no idempotency key at a device that is not to stay, or is not there', async () => {
    const claim = (token = 'token') => run('claim-repeat', ['claim', 'device'], [token, 60_000]);
    const isClaimed = async () => (await redis().exists(key('claim'))) === 1;
    expect(await claim()).to.equal(1);
    await redis().hset(key('device'), 'idKey', 'k');
    await redis().pexpire(key('device'), 60_000);
    expect(await claim()).to.equal(1);
    expect(await isClaimed()).to.equal(false);
    await redis().persist(key('device'));
    expect([await claim(), await claim('of another request')]).to.deep.equal([1, 0]);
    expect(await claim(), 'once more, as the answer was lost').to.equal(1);
    expect(await isClaimed()).to.equal(true);
  });

  it('lets no more questions wait than there is room for, and counts one that is asked again once', async () => {
    const ask = (id: string) =>
      run('ask-owner', ['questions', 'count', 'device'], [id, 'sealed', 60_000, 2, 0, 0, 60_000]);
    await redis().hset(key('device'), 'idKey', 'sealed');
    expect([await ask('a'), await ask('b'), await ask('c'), await ask('b')]).to.deep.equal([
      'asked',
      'asked',
      'busy',
      'asked',
    ]);
  });

  it('counts the numbers of a question once, also where it comes again, as the first answer was lost', async () => {
    const ask = (id: string) =>
      run('ask-owner', ['questions', 'count', 'device'], [id, 'sealed', 60_000, 2, 60, 100, 60_000]);
    await redis().hset(key('device'), 'idKey', 'sealed');
    expect([await ask('a'), await ask('a'), await ask('b')]).to.deep.equal(['asked', 'asked', 'capped']);
    expect(await redis().get(key('count'))).to.equal('60');
  });

  it('lists no member that has been silent for too long', async () => {
    await redis().zadd(key('members'), Date.now() - 60_000, 'silent', Date.now(), 'alive');
    expect(await run('list-members', ['members', 'loads'], [30_000])).to.deep.equal(['alive', '{}']);
  });

  it('notes the use of a token that is there, once in an interval', async () => {
    const note = (nowMs: number) => run('record-token-use', ['token'], [nowMs, 60_000]);
    expect(await note(100_000), 'no such token').to.equal(0);
    expect(await redis().exists(key('token'))).to.equal(0);
    await redis().hset(key('token'), 'hash', 'h');
    expect([await note(100_000), await note(159_999), await note(160_000)]).to.deep.equal([1, 0, 1]);
  });

  it('removes no opt-out that only points to another entry', async () => {
    await redis().hset(key('bucket'), '-7', '-4915112345670');
    await redis().set(key('count'), 1);
    const names = ['short-ids', 'count', 'buckets', 'log', 'starts', 'bucket'];
    expect(await run('remove-opt-out', names, [1, 1, '-7', 0, '', 1_000])).to.equal(0);
    expect(await redis().hget(key('bucket'), '-7')).to.equal('-4915112345670');
    expect(await redis().get(key('count'))).to.equal('1');
  });

  it('refreshes the time of a STOP by a later one, and of nothing that an operator has put on the list', async () => {
    const [reply, operator] = [100 * 8, 100 * 8 + 1];
    await redis().hset(key('bucket'), { a: reply, b: operator, c: 300 * 8 });
    const people = ['a', 'b', 'c'].flatMap((field) => [1, 0, field]);
    const names = ['count', 'buckets', 'log', 'starts', 'sign', 'bucket'];
    await run('add-opt-outs', names, ['1', 1, 200 * 8, 1_000, ...people]);
    expect(await redis().hgetall(key('bucket'))).to.deep.equal({ a: '1600', b: '801', c: '2400' });
  });

  const takeBacklog = (id: string, messages: number, room: number, knownAtMs: number, nowMs: number) =>
    run('take-backlog', ['taken', 'unwritten', 'limits'], [id, messages, room, knownAtMs, nowMs, 100]);
  const settleBacklog = (id: string, takenAtMs: number, nowMs: number, isRefused = '') =>
    run('settle-backlog', ['taken', 'unwritten'], [id, takenAtMs, nowMs, isRefused, 100]);
  async function takeAndSettle(messages: number, room: number, knownAtMs: number, nowMs: number): Promise<unknown> {
    const isTaken = await takeBacklog('own', messages, room, knownAtMs, nowMs);
    await settleBacklog('own', nowMs, nowMs);
    return isTaken;
  }

  it('counts what is taken of a backlog, and not written down yet, whatever is known, for ten seconds', async () => {
    expect(await takeBacklog('a', 6, 10, 1_000, 1_000), 'without a limit').to.equal(1);
    expect(await redis().exists(key('unwritten'))).to.equal(0);
    await redis().hset(key('limits'), 'backlog', 10);
    const first = () => takeBacklog('a', 6, 10, 1_000, 1_000);
    expect([await first(), await takeBacklog('b', 4, 10, 1_000, 1_010), await first()]).to.deep.equal([1, 1, 1]);
    expect(await takeBacklog('c', 1, 10, 5_000, 5_000), 'neither is written').to.equal(0);
    await settleBacklog('b', 1_010, 5_100, '1');
    expect(await redis().exists(key('taken')), 'refused').to.equal(0);
    expect(await takeBacklog('c', 5, 10, 5_200, 5_200)).to.equal(0);
    expect(await takeAndSettle(4, 10, 5_200, 5_200)).to.equal(1);
    await settleBacklog('a', 1_000, 5_300);
    expect(await redis().hgetall(key('taken'))).to.deep.equal({ 52: '4', 53: '6' });
    await settleBacklog('a', 1_000, 5_400);
    expect(await redis().hgetall(key('taken')), 'once').to.deep.equal({ 52: '4', 53: '6' });
    expect(await takeBacklog('d', 10, 10, 5_400, 5_400)).to.equal(1);
    expect(await takeBacklog('e', 10, 10, 15_500, 15_500), 'its process has died').to.equal(1);
    expect(await redis().hgetall(key('unwritten'))).to.deep.equal({ '155 e': '10' });
    expect(await redis().pttl(key('unwritten'))).to.be.within(1, 10_000);
  });

  it('counts what is taken of a backlog since the moment of which its room is known, for ten seconds', async () => {
    const take = takeAndSettle;
    await redis().hset(key('limits'), 'backlog', 10);
    expect(await take(6, 10, 1_000, 1_050)).to.equal(1);
    expect(await take(5, 10, 1_000, 1_060), 'more than is left').to.equal(0);
    expect(await take(4, 10, 1_000, 1_999)).to.equal(1);
    expect(await take(1, 10, 1_000, 2_000)).to.equal(0);
    expect(await take(6, 10, 1_500, 2_000), 'it knows of the first six').to.equal(1);
    expect(await take(1, 1, 2_100, 12_400)).to.equal(1);
    expect(await redis().hgetall(key('taken')), 'older ones go').to.deep.equal({ 124: '1' });
  });

  it('counts what others have taken of a backlog by a clock that differs a little, and nothing of one that has been set back since', async () => {
    const take = (messages: number, nowMs: number) => takeAndSettle(messages, 10, nowMs, nowMs);
    await redis().hset(key('limits'), 'backlog', 10);
    const [rightMs, aheadMs] = [50_000, 3_650_000];
    expect([await take(8, aheadMs), await take(3, aheadMs)]).to.deep.equal([1, 0]);
    await redis().pexpire(key('taken'), 3_600_000);
    expect(await take(6, rightMs)).to.equal(1);
    expect(await redis().hgetall(key('taken'))).to.deep.equal({ 500: '6' });
    expect(await redis().pttl(key('taken'))).to.be.within(1, 10_000);
    // Callers whose clocks are behind that of the one before, by seconds at most.
    expect([await take(5, rightMs - 900), await take(3, rightMs - 900)]).to.deep.equal([0, 1]);
    expect([await take(2, rightMs - 9_900), await take(1, rightMs - 9_900)]).to.deep.equal([0, 1]);
  });

  it('says that a blob is to be written again when a piece of it is missing', async () => {
    await redis().hset(key('short-ids'), 'short', 'device');
    const names = ['short-ids', 'blobs', 'sizes', 'bytes', 'reserved', 'holders', 'chunk-0', 'chunk-1'];
    const reserve = () => run('reserve-blob', names, ['hash', 10, 'holder', Date.now(), Date.now() + 60_000, 100]);
    await redis().mset(key('chunk-0'), 'x', key('chunk-1'), 'y');
    expect(await reserve()).to.equal('kept');
    await redis().del(key('chunk-1'));
    expect(await reserve()).to.equal('write');
  });

  it('tells the key of each sealed value of a hash, however many there are', async () => {
    const [sealed, other] = [sealedOn(1, 'key-1'), sealedOn(1, 'k2')];
    const fields = Array.from({ length: 1_200 }, (_, i) => [`f${i}`, i === 7 ? other : sealed]).flat();
    await redis().hset(key('hash'), ...(fields as [string, Buffer]));
    const found = await allPages('list-sealed');
    const keyIds = new Map(found.flatMap((field, i) => (i % 2 === 0 ? [[field, found[i + 1]] as const] : [])));
    expect(keyIds.size).to.equal(1_200);
    expect(keyIds.get('f7')).to.equal('k2');
    expect(keyIds.get('f8')).to.equal('key-1');
  });

  it('finds what was last written before a day, however much there is', async () => {
    const fields = Array.from({ length: 1_200 }, (_, i) => [
      `f${i}`,
      sealedOn(i % 2 === 0 ? 19_999 : 20_000, 'k'),
    ]).flat();
    await redis().hset(key('hash'), ...(fields as [string, Buffer]));
    const found = new Set<string>();
    let cursor = '0';
    do {
      const pages = (await run('find-unused-keys', ['hash'], [20_000, cursor, 100])) as [[string, ...string[]]];
      const [next, ...ids] = pages[0];
      for (const id of ids) found.add(id);
      cursor = next;
    } while (cursor !== '0');
    expect(found.size).to.equal(600);
    expect([found.has('f0'), found.has('f1')]).to.deep.equal([true, false]);
  });

  async function allPages(script: string): Promise<string[]> {
    const all: string[] = [];
    let cursor = '0';
    do {
      const [next, ...found] = (await run(script, ['hash'], [cursor, 100])) as [string, ...string[]];
      all.push(...found);
      cursor = next;
    } while (cursor !== '0');
    return all;
  }

  it('counts the starts of owners for an hour, and none that ended without one', async () => {
    let owner = 'session:1';
    const own = async (token: string) => {
      owner = token;
      await redis().mset(key('owner'), token, key('session'), '');
    };
    const note = (what: string) => run('note-start', ['owner', 'session', 'starts'], [owner, what, 3_600_000]);
    const end = () => run('note-ended', ['starts'], [owner]);
    const counted = () => redis().scard(key('starts'));
    await own('session:1');
    await end();
    expect([await note('started'), await note('started')], 'repeated').to.deep.equal([1, 1]);
    await own('session:2');
    expect(await note('started')).to.equal(2);
    expect(await redis().pttl(key('starts'))).to.be.within(3_590_000, 3_600_000);
    expect([await end(), await end()], 'once').to.deep.equal([1, 0]);
    expect(await counted()).to.equal(1);
    expect(await note('started')).to.equal(2);
    expect([await note('lasted'), await note('started')]).to.deep.equal([0, 1]);
    await redis().del(key('owner'));
    const refusals = ['started', 'lasted'].map((what) => note(what).catch((error: Error) => error.message));
    for (const refusal of await Promise.all(refusals)) expect(refusal).to.match(/^FENCED /);
    await end();
    expect(await counted(), 'that needs no owner').to.equal(0);
  });

  it('writes what must always be written, with all that goes with the command', async () => {
    expect(await run('write-always', ['value'], ['SET', 'x', 'PX', 60_000, 'NX'])).to.equal('OK');
    expect(await redis().pttl(key('value'))).to.be.within(50_000, 60_000);
    expect(await run('write-always', ['value'], ['SET', 'y', 'NX'])).to.equal(null);
    expect(await redis().get(key('value'))).to.equal('x');
  });

  it('reads all that the status of a device is made of', async () => {
    const names = ['desired', 'observed', 'restriction', 'owner', 'creds', 'device', 'backlog'];
    const read = () => run('read-device-state', names, [key('of:')]);
    expect(await read()).to.deep.equal([[], [], [], 0, 0, null, null, null]);
    for (const name of names.slice(0, 3)) await redis().hset(key(name), 'of', name);
    const hashes = names.slice(0, 3).map((name) => ['of', name]);
    await redis().set(key('owner'), 'a:b:7');
    expect(await read(), 'whose session has ended').to.deep.equal([...hashes, 0, 0, null, null, null]);
    await redis().set(key('of:a:b'), '');
    expect(await read()).to.deep.equal([...hashes, 1, 0, null, null, null]);
    await redis().set(key('creds'), 'x');
    await redis().hset(key('device'), { accountEpoch: 2, pace: '{}' });
    await redis().set(key('backlog'), 3);
    expect(await read()).to.deep.equal([...hashes, 1, 1, '2', '{}', '3']);
  });
});

/** The open part of a sealed value: see libs/store/src/core/vault.ts. */
function sealedOn(day: number, keyId: string): Buffer {
  return Buffer.concat([
    Buffer.of(2, keyId.length),
    Buffer.from(keyId),
    Buffer.of(day >> 8, day & 255),
    Buffer.alloc(29),
  ]);
}
