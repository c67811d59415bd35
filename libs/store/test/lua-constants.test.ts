import { packSend } from '@gateway/contracts/sends/packed-send';
import { HEAD_BYTES, RECIPIENT_BYTES } from '@gateway/contracts/sends/send-layout';
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

  /** Claims the first recipient of a packed send, by the Lua of another contract. */
  async function claim(contract: Partial<typeof CONTRACT>, packed: Buffer): Promise<unknown> {
    const keys = ['record', 'device'].map((name) => `${space.prefix}:{slot}:${name}`);
    await space.clients.commands.set(keys[0]!, packed);
    const names = 'local record_key, device_key = KEYS[1], KEYS[2] local now_ms, recipient, part = 1000, 0, 0\n';
    const lua = composeLua(['check-version', 'claim-recipient'], luaConstants({ ...CONTRACT, ...contract }));
    return evaluate(names + lua, keys);
  }
  const NEW = packSend({
    ...{ state: 'open', kind: 'text', priority: 'bulk', parts: 1, accountEpoch: 0 },
    ...{ recipients: ['1234567'], nowMs: 1, expiresAtMs: 2_000 },
    texts: { messageId: 'm', owner: 't', requestId: 'r', blob: '' },
  });
  /** With these bytes in the result of its recipient. */
  const sendWith = (bytes: Record<number, number>) => {
    const packed = Buffer.from(NEW);
    for (const [at, byte] of Object.entries(bytes)) packed[HEAD_BYTES + RECIPIENT_BYTES + Number(at)] = byte;
    return packed;
  };

  it('follows a status that gets another code', async () => {
    const [queued, ...others] = RECIPIENT_STATUSES;
    const statuses = [...others, queued];
    expect(await claim({ statuses }, sendWith({ 0: others.length }))).to.equal('claimed');
    expect(await claim({ statuses }, sendWith({ 0: 0 }))).to.equal('settled');
    expect(await claim({}, sendWith({ 0: 0 }))).to.equal('claimed');
  });

  it('follows a field that is moved in the layout', async () => {
    const { acked, ...rest } = CONTRACT.resultLayout;
    const resultLayout = { ...rest, acked: acked! };
    const [before, after] = [sendWith({ 3: 1 }), sendWith({ 14: 1 })];
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

  it('reads and writes heads, results and texts as TypeScript does', async () => {
    const packed = sendWith({ 0: 3, 1: 2, 5: 9, 11: 7, 14: 1 });
    const at = HEAD_BYTES + RECIPIENT_BYTES;
    const lua = `local record_key = KEYS[1]\n${composeLua(['check-version', 'results', 'head'], luaConstants(CONTRACT))}
      local packed = ARGV[1]
      local send, r = decode_head(packed), decode_result(packed, ${at + 1})
      local texts = decode_texts(string.sub(packed, HEAD_BYTES + PLACE_BYTES + 1))
      return { send.total, send.queued, send.expires_at, texts.message_id, texts.request_id, texts.blob,
        r.status, r.attempts, r.err, r.at, r.doubt,
        encode_head(send) == string.sub(packed, 1, HEAD_BYTES) and 1 or 0,
        encode_result(r) == string.sub(packed, ${at + 1}, ${at} + RESULT_BYTES) and 1 or 0 }`;
    expect(await evaluate(lua, [`${space.prefix}:{slot}:none`], [packed])).to.deep.equal([
      1,
      1,
      2_000,
      'm',
      'r',
      '',
      3,
      2,
      9,
      7,
      1,
      1,
      1,
    ]);
  });
});
