import { DEFAULT_SCOPES, matchesHash, parseApiToken } from '@gateway/contracts/api-token';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import {
  createApiToken,
  findApiToken,
  isUsable,
  listApiTokens,
  recordTokenUse,
  revokeApiToken,
  rotateApiToken,
} from '@gateway/store/workspace/tokens/api-tokens';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

describe('API tokens in the store', () => {
  let space: RedisSpace;

  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  const find = (keyId: string) => findApiToken(space.store, 'main', keyId);

  it('finds a token by the key id in its value, and keeps nothing to make the value from', async () => {
    const { value, token } = await createApiToken(space.store, 'main', {
      name: 'shop',
      device: 'shop',
      expiresAtMs: 9,
    });
    const { keyId } = parseApiToken(value)!;
    expect(await find(keyId)).to.deep.equal(token);
    expect(token).to.include({ keyId, name: 'shop', device: 'shop', expiresAtMs: 9 });
    expect(matchesHash(value, token.hash)).to.equal(true);
    const stored = await space.store.redis.hgetall(`${space.prefix}:{main}:token:${keyId}`);
    expect(JSON.stringify(stored)).not.to.include(value.slice(20));
    expect(await findApiToken(space.store, 'other', keyId)).to.equal(undefined);
  });

  it('lists the tokens of a workspace in the order they were made', async () => {
    const names = ['first', 'second', 'third'];
    for (const name of names) await createApiToken(space.store, 'main', { name });
    await createApiToken(space.store, 'other', { name: 'elsewhere' });
    const listed = await listApiTokens(space.store, 'main');
    expect(listed.map(({ name }) => name).sort()).to.deep.equal([...names].sort());
    const times = listed.map(({ createdAtMs }) => createdAtMs);
    expect(times).to.deep.equal([...times].sort());
  });

  it('is usable until it is revoked or over', async () => {
    const { token } = await createApiToken(space.store, 'main', { name: 'x', expiresAtMs: 1_000 });
    expect(isUsable(token, 999)).to.equal(true);
    expect(isUsable(token, 1_000)).to.equal(false);
    const revoked = await revokeApiToken(space.store, 'main', token.keyId);
    expect(isUsable(revoked!, 0)).to.equal(false);
    const { redis, space: names } = space.store;
    const before = revoked!.revokedAtMs! - 5;
    await redis.hset(workspaceKeys(names, 'main').token(token.keyId), 'revokedAtMs', before);
    const again = await revokeApiToken(space.store, 'main', token.keyId);
    expect(again?.revokedAtMs).to.equal(before);
    expect(await revokeApiToken(space.store, 'main', 'unknown')).to.equal(undefined);
    expect(await find('unknown')).to.equal(undefined);
  });

  it('may do what is written down and nothing else: names that are none give nothing, and no list the defaults', async () => {
    const { token } = await createApiToken(space.store, 'main', { name: 'x' });
    const key = `${space.prefix}:{main}:token:${token.keyId}`;
    const scopesOf = async (list: string) => {
      await space.store.redis.hset(key, 'scopes', list);
      return (await find(token.keyId))?.scopes;
    };
    expect(await scopesOf('otp,other')).to.deep.equal(['otp']);
    expect(await scopesOf('other')).to.deep.equal([]);
    expect(await scopesOf('')).to.deep.equal([]);
    await space.store.redis.hdel(key, 'scopes');
    expect((await find(token.keyId))?.scopes).to.deep.equal(DEFAULT_SCOPES);
  });

  it('is followed by one that may do the same for as long, and works until it is revoked', async () => {
    const now = Date.now();
    const scopes = ['otp'] as const;
    const options = { name: 'x', device: 'shop', scopes, owner: 'first', expiresAtMs: now + 60_000 };
    const { token } = await createApiToken(space.store, 'main', options);
    const rotate = (expiresAtMs?: number) => rotateApiToken(space.store, 'main', token.keyId, { expiresAtMs });
    const next = (await rotate())!;
    expect(next.token).to.deep.include({ name: 'x', device: 'shop', scopes, owner: 'first' });
    expect(next.token.keyId).to.not.equal(token.keyId);
    const lifetimeMs = next.token.expiresAtMs! - next.token.createdAtMs;
    expect(lifetimeMs).to.be.closeTo(token.expiresAtMs! - token.createdAtMs, 5_000);
    expect(matchesHash(next.value, next.token.hash)).to.equal(true);
    expect((await rotate(9))?.token.expiresAtMs).to.equal(9);
    expect(await find(token.keyId), 'the old one').to.deep.equal(token);
    const plain = await createApiToken(space.store, 'main', { name: 'y' });
    const after = await rotateApiToken(space.store, 'main', plain.token.keyId, {});
    expect(after?.token).to.include({ owner: plain.token.keyId }).and.not.have.any.keys('device', 'expiresAtMs');
    expect(await rotateApiToken(space.store, 'main', 'unknown', {})).to.equal(undefined);
  });

  it('records the last use at most once a minute, whatever the callers have read', async () => {
    const { token } = await createApiToken(space.store, 'main', { name: 'x' });
    const use = (nowMs: number) => recordTokenUse(space.store, token, nowMs);
    await use(1_000_000);
    await use(1_059_999);
    expect((await find(token.keyId))?.lastUsedAtMs).to.equal(1_000_000);
    await use(1_060_000);
    expect((await find(token.keyId))?.lastUsedAtMs).to.equal(1_060_000);
  });

  it('does not bring a token back that is gone', async () => {
    const { token } = await createApiToken(space.store, 'main', { name: 'x' });
    await space.store.redis.del(`${space.prefix}:{main}:token:${token.keyId}`);
    await recordTokenUse(space.store, token, Date.now());
    expect(await find(token.keyId)).to.equal(undefined);
  });
});
