import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

/** What single steps promise, where their callers can hardly be brought to the moment that it is about. */
describe('a step in Redis', () => {
  let space: RedisSpace;
  let key: (name: string) => string;
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
    expect(await run('close-repeat', ['repeat'], [60_000])).to.equal(0);
    expect(await redis().hgetall(key('repeat'))).to.deep.equal({ messageId: 'msg_1' });
  });

  it('lets no more questions wait than there is room for, and counts one that is asked again once', async () => {
    const ask = (id: string) => run('ask-owner', ['questions', 'count'], [id, 'sealed', 60_000, 2, 0, 0, 60_000]);
    expect([await ask('a'), await ask('b'), await ask('c'), await ask('b')]).to.deep.equal([
      'asked',
      'asked',
      'busy',
      'asked',
    ]);
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

  it('takes nobody off the list of opt-outs who only leads to another entry', async () => {
    await redis().hset(key('bucket'), '-7', '-4915112345670');
    await redis().set(key('count'), 1);
    expect(await run('remove-opt-out', ['count', 'buckets', 'bucket'], ['-7', 0, ''])).to.equal(0);
    expect(await redis().hget(key('bucket'), '-7')).to.equal('-4915112345670');
    expect(await redis().get(key('count'))).to.equal('1');
  });

  it('refreshes the time of a STOP by a later one, and of nothing that an operator has put on the list', async () => {
    const [reply, operator] = [100 * 8, 100 * 8 + 1];
    await redis().hset(key('bucket'), { a: reply, b: operator, c: 300 * 8 });
    const people = ['a', 'b', 'c'].flatMap((field) => [3, 0, field]);
    await run('add-opt-outs', ['count', 'buckets', 'bucket'], [200 * 8, 1_000, ...people]);
    expect(await redis().hgetall(key('bucket'))).to.deep.equal({ a: '1600', b: '801', c: '2400' });
  });

  it('says that a blob is to be written again when a piece of it is missing', async () => {
    const names = ['blobs', 'sizes', 'bytes', 'holders', 'chunk-0', 'chunk-1'];
    const reserve = () => run('reserve-blob', names, ['hash', 10, 'holder', Date.now(), Date.now() + 60_000, 100]);
    await redis().mset(key('chunk-0'), 'x', key('chunk-1'), 'y');
    expect(await reserve()).to.equal('kept');
    await redis().del(key('chunk-1'));
    expect(await reserve()).to.equal('write');
  });
});
