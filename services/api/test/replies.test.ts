import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { readIdKey } from '@gateway/store/devices/devices';
import { takeAccount } from '@gateway/store/devices/take-account';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { forgetReceivedFrom, readReceived, recordReceived } from '@gateway/store/inbound/received-messages';
import { readContent, readSend } from '@gateway/store/sends/read-send';
import { takeDevice } from '@gateway/testkit/ownership';
import { expect } from 'chai';
import { DEFAULT, linkDevice } from './support/device-owner.js';
import type { Answer } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const [ANN, BEN, CYD] = ['447700900001', '447700900002', '447700900003'] as const;
const DAY_MS = 24 * 60 * 60 * 1000;

describe('existingMessageId of POST /send', () => {
  const { space, api, owner } = useTestApi({ linked: true });

  const send = (to: string | string[], existingMessageId?: string, token = api.token): Promise<Answer> =>
    api.call('POST', '/send', { token, json: { to, text: 'hello', ...(existingMessageId && { existingMessageId }) } });
  const sent = async (to: string | string[]) => String((await send(to)).body.messageId);
  const replyOf = async ({ body }: Answer) =>
    (await readContent(space.store, DEFAULT, parseMessageId(String(body.messageId))!.tag))?.reply;
  const receive = (platformId: string, nowMs = Date.now(), ownership: Ownership = owner.ownership) =>
    recordReceived(space.store, ownership, {
      message: { platformId, jid: `${ANN}@s.whatsapp.net`, phone: ANN, text: 'a question' },
      nowMs,
    });
  function expectRefused({ status, body }: Answer, path: (string | number)[]): void {
    expect(status).to.equal(400);
    expect(body.error).to.equal('Invalid request data');
    expect((body.details as { path: unknown }[])[0]!.path).to.deep.equal(path);
  }

  it('takes the messageId of a list: each quotes their own', async () => {
    const list = await sent([ANN, BEN, CYD]);
    const answer = await send([CYD, ANN], list);
    expect(answer.status).to.equal(202);
    const { tag } = (await readSend(space.store, DEFAULT, list))!;
    expect(await replyOf(answer)).to.deep.equal({ kind: 'own', tag, part: 0 });
  });

  it('takes the id at the network of a message that the device sent', async () => {
    const { tag } = (await readSend(space.store, DEFAULT, await sent([ANN, BEN])))!;
    const ids = platformIds((await readIdKey(space.store, DEFAULT))!);
    const platformId = ids.make({ tag, recipient: 1, part: 0 });
    expect(await replyOf(await send(BEN, platformId))).to.deep.equal({ kind: 'own', tag, recipient: 1, part: 0 });
    expectRefused(await send(ANN, platformId), ['to']);
    expectRefused(await send(ANN, ids.make({ tag, recipient: 2, part: 0 })), ['existingMessageId']);
  });

  it('takes the id of a message that the device received in the last 7 days', async () => {
    await receive('3EB0AAAA');
    const from = `${ANN}@s.whatsapp.net`;
    expect(await replyOf(await send(ANN, '3EB0AAAA'))).to.deep.equal({
      kind: 'received',
      platformId: '3EB0AAAA',
      from,
    });
    expectRefused(await send(BEN, '3EB0AAAA'), ['to']);
    await receive('3EB0BBBB', Date.now() - 7 * DAY_MS - 1);
    expectRefused(await send(ANN, '3EB0BBBB'), ['existingMessageId']);
  });

  it('takes for each the message that they wrote, also when a phone took the id of another', async () => {
    await receive('3EB0EEEE');
    const jid = '77@lid';
    await recordReceived(space.store, owner.ownership, {
      message: { platformId: '3EB0EEEE', jid, phone: BEN, text: 'another question' },
      nowMs: Date.now(),
    });
    expect(await replyOf(await send(ANN, '3EB0EEEE'))).to.include({ from: `${ANN}@s.whatsapp.net` });
    const reply = await replyOf(await send(BEN, '3EB0EEEE'));
    expect(reply).to.include({ from: jid });
    const { platformId: receivedId } = reply as { platformId: string };
    const quoted = await readReceived(space.store, DEFAULT, { receivedId, nowMs: Date.now() });
    expect(quoted).to.include({ platformId: '3EB0EEEE', text: 'another question' });
    expectRefused(await send(CYD, '3EB0EEEE'), ['to']);
    expectRefused(await send([ANN, BEN], '3EB0EEEE'), ['to', 1]);
    await forgetReceivedFrom(space.store, DEFAULT, ({ phone }) => phone === ANN);
    expect(await replyOf(await send(BEN, '3EB0EEEE')), 'the first is gone').to.deep.equal(reply);
  });

  it('knows people however their number is written', async () => {
    const [typed, known] = ['5511987654321', '551187654321'] as const;
    await recordReceived(space.store, owner.ownership, {
      message: { platformId: '3EB0CCCC', jid: `${known}@s.whatsapp.net`, phone: known, text: 'a question' },
      nowMs: Date.now(),
    });
    expect((await send(typed, '3EB0CCCC')).status).to.equal(202);
    expect((await send(known, await sent([ANN, typed]))).status).to.equal(202);
  });

  it('takes no recipient for a message of a person whose number is not known', async () => {
    await recordReceived(space.store, owner.ownership, {
      message: { platformId: '3EB0DDDD', jid: '100000000000001@lid', text: 'a question' },
      nowMs: Date.now(),
    });
    expectRefused(await send('100000000000001', '3EB0DDDD'), ['to']);
  });

  it('refuses a recipient who was not in the list, by their place in `to`', async () => {
    const list = await sent([ANN, BEN]);
    expectRefused(await send([ANN, CYD, BEN], list), ['to', 1]);
    expectRefused(await send(CYD, list), ['to']);
  });

  it('refuses what this device never sent or received', async () => {
    await linkDevice(space.store, { workspace: 'main', device: 'shop' });
    const { value } = await api.newToken({ device: 'shop' });
    const list = await sent([ANN, BEN]);
    expectRefused(await send(ANN, list, value), ['existingMessageId']);
    for (const id of ['msg_x', 'x', `msg_${'0'.repeat(24)}`, '3EB0123456789012345678', 'x'.repeat(101)]) {
      expectRefused(await send(ANN, id), ['existingMessageId']);
    }
  });

  it('tells a token nothing of who is in the sends of others', async () => {
    const list = await sent([ANN, BEN]);
    const { tag } = (await readSend(space.store, DEFAULT, list))!;
    const platformId = platformIds((await readIdKey(space.store, DEFAULT))!).make({ tag, recipient: 1, part: 0 });
    const { value: other } = await api.newToken({ device: 'default', scopes: ['send'] });
    for (const id of [list, platformId]) {
      const [member, stranger] = [await send(BEN, id, other), await send(CYD, id, other)];
      expectRefused(member, ['existingMessageId']);
      expect(member.body.details).to.deep.equal(stranger.body.details);
    }
    const { value: admin } = await api.newToken({ device: 'default', scopes: ['send', 'admin'] });
    for (const id of [list, platformId]) expect((await send(BEN, id, admin)).status).to.equal(202);
  });

  it('refuses what belongs to the account that was linked before', async () => {
    const take = (phone: string) => takeAccount(space.store, owner.ownership, { phone, nowMs: Date.now() });
    await take('447700900123');
    const list = await sent(ANN);
    await receive('3EB0AAAA');
    expect(await take('447700900123')).to.deep.equal({ isOther: false });
    for (const id of [list, '3EB0AAAA']) expect((await send(ANN, id)).status).to.equal(202);
    expect(await take('447700900124')).to.deep.equal({ isOther: true });
    for (const id of [list, '3EB0AAAA']) expectRefused(await send(ANN, id), ['existingMessageId']);
    expect((await send(ANN, await sent(ANN))).status).to.equal(202);
  });

  it('remembers received messages sealed, and under the ownership', async () => {
    await receive('3EB0AAAA');
    const keys = deviceKeys(space.store.space, DEFAULT);
    const stored = await space.clients.commands.hget(keys.received, '3EB0AAAA');
    expect(stored).not.to.match(/question|4477/);
    expect(await space.clients.commands.pttl(keys.received)).to.be.within(7 * DAY_MS - 5_000, 7 * DAY_MS);
    await owner.release();
    const newer = (await takeDevice(space.store, DEFAULT, { owner: 'newer', ttlMs: 10_000 }))!;
    const refused = await receive('3EB0CCCC').catch((thrown: Error) => thrown.name);
    expect(refused).to.equal('FencedError');
    await receive('3EB0CCCC', Date.now(), newer);
  });
});
