import { readResult } from '@gateway/contracts/sends/send-layout';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { CONTRACT, luaConstants } from '@gateway/store/core/scripts/lua-constants';
import { composeLua } from '@gateway/store/core/scripts/lua-source';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

describe('what Lua is told of the contract', () => {
  let space: RedisSpace;
  before(async () => {
    space = await openRedisSpace();
  });
  after(() => space.close());
  const evaluate = (lua: string, keys: string[] = [], args: (string | number | Buffer)[] = []) =>
    space.clients.commands.eval(lua, keys.length, ...keys, ...args);

  /** Claims a recipient whose result is `result`, by the Lua of another contract. */
  async function claim(contract: Partial<typeof CONTRACT>, result: Buffer): Promise<unknown> {
    const keys = ['record', 'results', 'device'].map((name) => `${space.prefix}:{slot}:${name}`);
    await space.clients.commands.hset(keys[0]!, 'expiresAtMs', 2_000);
    await space.clients.commands.set(keys[1]!, result);
    const names =
      'local record_key, results_key, device_key = KEYS[1], KEYS[2], KEYS[3] local now_ms, recipient, part = 1000, 0, 0\n';
    return evaluate(names + composeLua(['claim-recipient'], luaConstants({ ...CONTRACT, ...contract })), keys);
  }
  const resultOf = (bytes: Record<number, number>) =>
    Buffer.from(Array.from({ length: 16 }, (_, at) => bytes[at] ?? 0));

  it('follows a status that gets another code', async () => {
    const [queued, ...others] = RECIPIENT_STATUSES;
    const statuses = [...others, queued];
    expect(await claim({ statuses }, resultOf({ 0: others.length }))).to.equal('claimed');
    expect(await claim({ statuses }, resultOf({ 0: 0 }))).to.equal('settled');
    expect(await claim({}, resultOf({ 0: 0 }))).to.equal('claimed');
  });

  it('follows a field that is moved in the layout', async () => {
    const { acked, ...rest } = CONTRACT.resultLayout;
    const resultLayout = { ...rest, acked: acked! };
    const [before, after] = [resultOf({ 3: 1 }), resultOf({ 15: 1 })];
    expect([await claim({}, before), await claim({ resultLayout }, before)]).to.deep.equal(['settled', 'claimed']);
    expect([await claim({}, after), await claim({ resultLayout }, after)]).to.deep.equal(['claimed', 'settled']);
  });

  it('does not load with a name that the contract does not have', () => {
    const { QUEUED: _, ...without } = luaConstants(CONTRACT);
    expect(() => composeLua(['claim-recipient'], without)).to.throw('claim-recipient.lua asks for QUEUED');
    const renamed = luaConstants({ ...CONTRACT, events: ['seen'] });
    expect(() => composeLua(['record-results'], renamed)).to.throw('record-results.lua asks for EVENT_FAILED');
    expect(() => composeLua(['no-such-step'], without)).to.throw('no Lua file named no-such-step');
  });

  it('reads and writes a result as TypeScript does', async () => {
    const bytes = resultOf({ 0: 3, 1: 2, 5: 9, 11: 7, 14: 1 });
    const lua = `${composeLua(['results'], luaConstants(CONTRACT))}
      local r = decode_result(ARGV[1])
      return { r.status, r.attempts, r.err, r.at, r.doubt, encode_result(r) == ARGV[1] and 1 or 0 }`;
    expect(await evaluate(lua, [], [bytes])).to.deep.equal([3, 2, 9, 7, 1, 1]);
    const read = { status: 'read', attempts: 2, errorCode: 9, atMs: 7, partsInDoubt: 1 };
    expect(readResult(bytes, 0)).to.include(read);
  });
});
