import { makeMessageId, parseMessageId } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import type { Store } from '@gateway/store/core/store';
import { createVault } from '@gateway/store/core/vault';
import { setPace } from '@gateway/store/devices/devices';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { takeAccount } from '@gateway/store/devices/take-account';
import { claimRecipient, recordResults } from '@gateway/store/sends/change-send';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { eventually } from '@gateway/testkit/eventually';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { takePace } from '@gateway/testkit/sends/take-pace';
import { expect } from 'chai';
import { acknowledgeSend, DEFAULT } from './support/device-owner.js';
import type { Answer } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

interface Recipient {
  to: string;
  status: string;
  platformMessageIds: string[];
  error: string | null;
  at: string;
}

describe('GET and DELETE /messages/{messageId}', () => {
  const { space, api, owner } = useTestApi({ linked: true });

  async function send(count: number): Promise<string> {
    const to = Array.from({ length: count }, (_, i) => String(447700000000 + i));
    return String((await api.call('POST', '/send', { json: { to, text: 'hello' } })).body.messageId);
  }
  const show = (id: string, query = '') => api.call('GET', `/messages/${id}${query}`);
  const recipientsOf = ({ body }: Answer) => body.recipients as Recipient[];

  /** What a sender does to one recipient, up to an event. */
  async function work(id: string, recipient: number, event: 'acked' | 'delivered' | 'read' | 'failed', errorCode = 0) {
    const { tag } = parseMessageId(id)!;
    const nowMs = Date.now();
    await claimRecipient(space.store, owner.ownership, { tag, recipient, part: 0, nowMs });
    await recordResults(space.store, owner.ownership, {
      tag,
      nowMs,
      events: [{ recipient, part: 0, event, errorCode }],
    });
  }

  it('shows a send that no sender has taken yet', async () => {
    const id = await send(2);
    const { status, body } = await show(id);
    expect(status).to.equal(200);
    expect(body).to.deep.include({
      success: true,
      messageId: id,
      status: 'queued',
      counts: { queued: 2, sent: 0, delivered: 0, read: 0, failed: 0, expired: 0, cancelled: 0 },
      nextCursor: null,
    });
    const [first] = recipientsOf({ body } as Answer);
    expect(first).to.include({ to: '447700000000', status: 'queued', error: null });
    expect(first?.platformMessageIds).to.deep.equal([]);
    expect(Date.parse(first!.at)).to.be.closeTo(Date.now(), 5_000);
  });

  it('shows what was meant to come from another account as cancelled at once, before any process has cancelled it', async () => {
    const run: RunScript = (name, keys, args) =>
      name === 'cancel-send' ? Promise.reject(new Error('died')) : space.store.run(name, keys, args);
    const take = (phone: string, store: Store = space.store) =>
      takeAccount(store, owner.ownership, { phone, nowMs: Date.now() });
    await take('447700900123');
    const id = await send(3);
    await work(id, 0, 'acked');
    expect(await take('447700900124', { ...space.store, run }).catch(String)).to.equal('Error: died');
    const answer = await show(id);
    expect(answer.body.counts).to.include({ queued: 0, sent: 1, cancelled: 2 });
    expect(recipientsOf(answer).map(({ status }) => status)).to.deep.equal(['sent', 'cancelled', 'cancelled']);
  });

  it('shows what became of each recipient, with the ids of the network', async () => {
    const id = await send(4);
    await work(id, 0, 'read');
    await work(id, 1, 'acked');
    await work(id, 2, 'failed', 463);
    const answer = await show(id);
    expect(answer.body.status).to.equal('sending');
    expect(answer.body.counts).to.include({ queued: 1, sent: 1, read: 1, failed: 1 });
    const recipients = recipientsOf(answer);
    expect(recipients.map(({ status }) => status)).to.deep.equal(['read', 'sent', 'failed', 'queued']);
    expect(recipients[2]?.error).to.equal('network_463');
    for (const { platformMessageIds } of recipients.slice(0, 3)) {
      expect(platformMessageIds).to.have.length(1);
      expect(platformMessageIds[0]).to.match(/^3EB0[0-9A-F]{18}$/);
    }
  });

  it('shows which recipients wait for the pace of the device, until the pace allows them', async () => {
    const pace = { messagesPerMinute: 1, burst: 2, jitter: 0 };
    await setPace(space.store, DEFAULT, pace);
    const id = await send(3);
    const errors = async () => recipientsOf(await show(id)).map(({ error }) => error);
    const take = () => takePace(space.store, owner.ownership, { pace, nowMs: Date.now() });
    expect(await errors(), 'nothing was sent').to.deep.equal([null, null, null]);
    await take();
    await work(id, 0, 'acked');
    expect(await errors(), 'the burst is not used up').to.deep.equal([null, null, null]);
    await take();
    await work(id, 1, 'failed', 463);
    expect(await errors()).to.deep.equal([null, 'network_463', 'paced']);
    const { tag } = parseMessageId(id)!;
    const events = [{ recipient: 2, part: 0, event: 'held' as const, errorCode: 10 }];
    await recordResults(space.store, owner.ownership, { tag, nowMs: Date.now(), events });
    expect((await errors())[2], 'a reason of its own').to.equal('looked_up_again');
    await setPace(space.store, DEFAULT, { ...pace, messagesPerMinute: 0 });
    const other = await send(1);
    expect(recipientsOf(await show(other))[0]?.error, 'no pace').to.equal(null);
  });

  it('says of lists, and of no OTP, that they wait for what people wrote while the device was away', async () => {
    const id = await send(2);
    const before = await listOpenSends(space.store, DEFAULT);
    const asking = api.call('POST', '/otp', { json: { phone: '447700900999', code: '482913' } });
    const otp = await eventually(async () =>
      (await listOpenSends(space.store, DEFAULT)).find((messageId) => !before.includes(messageId)),
    );
    const errors = async (of: string) => recipientsOf(await show(of)).map(({ error }) => error);
    const connected = { status: 'connected', phone: '447700900123' } as const;
    await owner.observe({ ...connected, reason: 'awaiting_backlog' });
    expect((await api.call('GET', '/status')).body).to.include({ status: 'connected', reason: 'awaiting_backlog' });
    expect(await errors(id)).to.deep.equal(['awaiting_backlog', 'awaiting_backlog']);
    expect(await errors(otp)).to.deep.equal([null]);
    await owner.observe(connected);
    expect((await api.call('GET', '/status')).body).not.to.have.property('reason');
    expect(await errors(id)).to.deep.equal([null, null]);
    await acknowledgeSend(space.store, owner, otp);
    expect((await asking).status).to.equal(200);
  });

  it('says until when those wait whom a restriction of the network concerns', async () => {
    const id = await send(3);
    const nowMs = Date.now();
    const held = (recipient: number) => ({ recipient, part: 0, event: 'held' as const, errorCode: 9 });
    const { tag } = parseMessageId(id)!;
    await recordResults(space.store, owner.ownership, { tag, nowMs, events: [held(0), held(1)] });
    await work(id, 1, 'acked');
    const untilMs = Date.parse('2030-01-02T03:04:05Z');
    await recordRestriction(space.store, owner.ownership, { kind: 'reach_out_time_lock', sinceMs: nowMs, untilMs });
    const [first, ...others] = recipientsOf(await show(id));
    expect(first).to.include({ status: 'queued', error: 'new_contacts_held', heldUntil: '2030-01-02T03:04:05.000Z' });
    for (const other of others) expect(other).not.to.have.property('heldUntil');
    await recordRestriction(space.store, owner.ownership, { kind: 'new_chat_cap', sinceMs: nowMs });
    expect(recipientsOf(await show(id))[0]).to.include({ heldUntil: null });
    await recordRestriction(space.store, owner.ownership, undefined);
    expect(recipientsOf(await show(id))[0]).not.to.have.property('heldUntil');
  });

  it('pages through recipients, each exactly once', async () => {
    const id = await send(250);
    const seen: string[] = [];
    let cursor: unknown;
    let pages = 0;
    do {
      const answer = await show(id, `?limit=100${cursor ? `&cursor=${cursor}` : ''}`);
      seen.push(...recipientsOf(answer).map(({ to }) => to));
      cursor = answer.body.nextCursor;
      pages++;
    } while (cursor !== null);
    expect(pages).to.equal(3);
    expect(new Set(seen).size).to.equal(250);
    expect(seen).to.have.length(250);
    expect(recipientsOf(await show(id)), 'the default page').to.have.length(100);
    expect((await show(id, '?cursor=250')).body).to.deep.include({ recipients: [], nextCursor: null });
  });

  it('answers 503 for a send that another version of the gateway has written, and changes nothing of it', async () => {
    const id = await send(1);
    await rewriteHead(space.store, DEFAULT, id, { version: 99 });
    const { record } = sendKeys(space.store.space, DEFAULT, parseMessageId(id)!.tag);
    const before = await space.store.redis.get(record);
    for (const method of ['GET', 'DELETE'] as const) {
      const { status, headers } = await api.call(method, `/messages/${id}`);
      expect([status, headers.get('retry-after')], method).to.deep.equal([503, '2']);
    }
    expect(await space.store.redis.get(record)).to.equal(before);
  });

  it('answers 503, and not that there is none, while a key is missing to tell the ids of its messages', async () => {
    const id = await send(1);
    const key = `${space.prefix}:{#34}:main/default:device`;
    const other = createVault({ credentials: [], contents: [{ id: 'later', key: Buffer.alloc(32, 9) }] });
    await space.store.redis.hset(key, 'idKey', other.seal(Buffer.alloc(16), 'idKey', `${key}/idKey`));
    const { status, headers } = await show(id);
    expect([status, headers.get('retry-after')]).to.deep.equal([503, '2']);
  });

  it('refuses pages that cannot be', async () => {
    const id = await send(1);
    for (const query of ['?limit=0', '?limit=1001', '?limit=x', '?cursor=-1', '?cursor=abc', '?page=2']) {
      expect((await show(id, query)).status, query).to.equal(400);
    }
  });

  it('answers 404 for ids that are not there', async () => {
    for (const id of ['x', 'msg_x', makeMessageId(DEFAULT), makeMessageId({ workspace: 'main', device: 'nowhere' })]) {
      for (const method of ['GET', 'DELETE']) {
        const { status, body } = await api.call(method, `/messages/${id}`);
        expect(status).to.equal(404);
        expect(body).to.deep.equal({ success: false, error: 'Not found' });
      }
    }
  });

  it('cancels what has not been sent yet, and may be repeated', async () => {
    const id = await send(3);
    await work(id, 0, 'delivered');
    const expected = { queued: 0, sent: 0, delivered: 1, read: 0, failed: 0, expired: 0, cancelled: 2 };
    for (let i = 0; i < 2; i++) {
      const { status, body } = await api.call('DELETE', `/messages/${id}`);
      expect(status).to.equal(200);
      expect(body).to.deep.equal({ success: true, messageId: id, status: 'delivered', counts: expected });
    }
    const answer = await show(id);
    expect(recipientsOf(answer).map(({ status }) => status)).to.deep.equal(['delivered', 'cancelled', 'cancelled']);
  });
});
