import { parseMessageId } from '@gateway/contracts/ids';
import { queueName, queuePrefix } from '@gateway/contracts/redis-keys';
import { createLogger } from '@gateway/runtime/logs/logger';
import { startTracing } from '@gateway/runtime/tracing/start-tracing';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { readContent, readRecipients, readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { startTraceCollector } from '@gateway/testkit/tracing/trace-collector';
import { expect } from 'chai';
import { ACCOUNT, DEFAULT, linkDevice, ownDevice } from './support/device-owner.js';
import { type Answer, startTestApi } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const NUMBER_MESSAGE =
  'must be a phone number of 7 to 15 digits that starts with its country code, without the 0 that is dialled inside the country';

describe('POST /send', () => {
  const { space, api } = useTestApi();

  const send = (json: unknown, target = api): Promise<Answer> => target.call('POST', '/send', { json });
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(447700000000 + i));
  async function expectDetails(json: unknown, details: unknown): Promise<void> {
    const { status, body } = await send(json);
    expect(status).to.equal(400);
    expect(body).to.deep.equal({ success: false, error: 'Invalid request data', details });
  }

  it('answers 202 once a text to one recipient is written down and queued', async () => {
    await linkDevice(space.store);
    const { status, body, headers } = await api.call('POST', '/send', {
      json: { to: '447700900001', text: 'hello' },
      headers: { 'x-request-id': 'order-7' },
    });
    expect(status).to.equal(202);
    expect(body).to.have.all.keys('success', 'messageId', 'status', 'recipients', 'duplicates', 'estimatedFinishAt');
    expect(body).to.include({ success: true, status: 'queued', recipients: 1, duplicates: 0 });
    expect(Date.parse(String(body.estimatedFinishAt))).to.be.closeTo(Date.now(), 5_000);
    expect(headers.get('x-ratelimit-limit')).to.equal('30');

    const messageId = String(body.messageId);
    const { tag } = parseMessageId(messageId)!;
    const record = await readSend(space.store, DEFAULT, messageId);
    expect(record).to.include({ state: 'open', total: 1, kind: 'text', requestId: 'order-7' });
    expect(record!.expiresAtMs - record!.createdAtMs).to.equal(24 * 60 * 60 * 1000);
    expect(await readContent(space.store, DEFAULT, tag)).to.deep.equal({ content: { kind: 'text', text: 'hello' } });
    expect(await listOpenSends(space.store, DEFAULT)).to.deep.equal([messageId]);
  });

  describe('in the trace of its caller', () => {
    const [traceId, parent] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    const traceOf = async () => {
      await linkDevice(space.store);
      const headers = { traceparent: `00-${traceId}-${parent}-01` };
      const { body } = await api.call('POST', '/send', { json: { to: '447700900001', text: 'hello' }, headers });
      return (await readSend(space.store, DEFAULT, String(body.messageId)))!.trace;
    };

    it('keeps with the send which part of the trace accepted it', async () => {
      const collector = await startTraceCollector();
      const logger = createLogger({ service: 'test', level: 'error' });
      const stop = await startTracing({
        ...{ endpoint: collector.endpoint, name: 'api', processId: 'api-1', version: '1.2.3', logger },
      });
      const kept = await traceOf().finally(stop);
      const named = (name: string) => collector.spans.find((span) => span.name === name);
      expect(named('POST /send')).to.include({ traceId, parentSpanId: parent, instance: 'api-1' });
      expect(kept).to.equal(`00-${traceId}-${named('accept')!.spanId}-01`);
      await collector.close();
    });

    it('keeps nothing of it while nothing is traced', async () => {
      expect(await traceOf()).to.equal(undefined);
    });
  });

  it('cleans numbers up, sends to each once and counts the doubles', async () => {
    await linkDevice(space.store);
    const to = ['+44 7700 900-001', '447700900001', '(44) 7700.900002', '[44]7700900003', '44 7700 900 002'];
    // One person in Brazil, with the 9 in front of mobile numbers and as it was before.
    to.push('5511987654321', '551187654321');
    const { status, body } = await send({ to, text: 'hello' });
    expect(status).to.equal(202);
    expect(body).to.include({ recipients: 4, duplicates: 3 });
    const { tag } = parseMessageId(String(body.messageId))!;
    const recipients = await readRecipients(space.store, DEFAULT, tag, { from: 0, limit: 10 });
    expect(recipients.map((recipient) => recipient.to)).to.deep.equal([
      '447700900001',
      '447700900002',
      '447700900003',
      '5511987654321',
    ]);
  });

  it('takes 10,000 recipients with one id, one record and one job', async () => {
    await linkDevice(space.store);
    const { status, body } = await send({ to: numbers(10_000), text: 'x'.repeat(65_536) });
    expect(status).to.equal(202);
    expect(body).to.include({ recipients: 10_000, duplicates: 0 });
    expect(JSON.stringify(body).length).to.be.below(250);
    const pattern = `${queuePrefix({ prefix: space.prefix })}:${queueName('test-owner')}:msg_*`;
    // The answer does not wait for it.
    const jobs = await eventually(async () => {
      const found = await space.clients.commands.keys(pattern);
      return found.length > 0 && found;
    });
    expect(jobs).to.have.length(1);
  });

  it('tells when it will be done at the pace of the device', async () => {
    await linkDevice(space.store);
    const slow = await startTestApi(space, { pace: { messagesPerMinute: 20, burst: 1, jitter: 0.3 } });
    const first = await send({ to: numbers(100), text: 'hello' }, slow);
    expect(Date.parse(String(first.body.estimatedFinishAt)) - Date.now()).to.be.closeTo(5 * 60_000, 5_000);
    const second = await send({ to: numbers(20), text: 'hello' }, slow);
    expect(Date.parse(String(second.body.estimatedFinishAt)) - Date.now()).to.be.closeTo(6 * 60_000, 5_000);
    await slow.close();
  });

  it('refuses what could not be sent before it expires (422)', async () => {
    await linkDevice(space.store);
    const slow = await startTestApi(space, { pace: { messagesPerMinute: 1, burst: 1, jitter: 0 } });
    const { status, body } = await send({ to: numbers(1_441), text: 'hello' }, slow);
    expect(status).to.equal(422);
    expect(body).to.deep.equal({ success: false, error: 'Queue would expire' });
    expect(await listOpenSends(space.store, DEFAULT)).to.deep.equal([]);
    expect((await send({ to: numbers(1_000), text: 'hello' }, slow)).status).to.equal(202);
    expect((await send({ to: numbers(1_000), text: 'hello' }, slow)).status, 'behind the first').to.equal(422);
    await slow.close();
  });

  it('refuses without a linked account (409), after the body was checked', async () => {
    const expectNoDevice = ({ status, body }: Answer) => {
      expect(status).to.equal(409);
      expect(body).to.deep.equal({ success: false, error: 'No connected messenger device found' });
    };
    const text = { to: '447700900001', text: 'hello' };
    expectNoDevice(await send(text));
    const owner = await ownDevice(space.store);
    expectNoDevice(await send(text));
    await owner.release();
    const linked = await linkDevice(space.store);
    await linked.observe({ status: 'disconnected', reason: 'banned' }, 'unlinked');
    expectNoDevice(await send(text));
    expect((await send({ ...text, to: 'x' })).status).to.equal(400);
  });

  it('accepts for a linked device that is being restored', async () => {
    const owner = await linkDevice(space.store);
    await owner.observe({ status: 'connecting', reason: 'network' });
    expect((await send({ to: ACCOUNT, text: 'hello' })).status).to.equal(202);
    await owner.release();
    expect((await send({ to: ACCOUNT, text: 'hello' })).status).to.equal(202);
  });

  it('names text and attachment when both are missing', async () => {
    await expectDetails({ to: ACCOUNT }, [
      { path: ['text', 'attachment'], message: 'either text or attachment must be provided' },
    ]);
  });

  it('reports all problems at once, and never a value', async () => {
    await expectDetails({ to: 'secret', text: 7, subject: 'secret', __proto: 'secret' }, [
      { path: ['to'], message: NUMBER_MESSAGE },
      { path: ['text'], message: 'must be a string' },
      { path: ['subject'], message: 'is not allowed' },
      { path: ['__proto'], message: 'is not allowed' },
    ]);
    await expectDetails(undefined, [
      { path: ['to'], message: 'is required' },
      { path: ['text', 'attachment'], message: 'either text or attachment must be provided' },
    ]);
    await expectDetails({ to: ACCOUNT, text: '' }, [{ path: ['text'], message: 'is not allowed to be empty' }]);
    await expectDetails({ to: ACCOUNT, text: 'x'.repeat(65_537) }, [
      { path: ['text'], message: 'length must be less than or equal to 65536 characters long' },
    ]);
  });

  it('refuses half a surrogate pair and a field that only looks inherited', async () => {
    const raw = async (body: string) =>
      (await api.call('POST', '/send', { body, headers: { 'content-type': 'application/json' } })).body.details;
    expect(await raw(`{"to":"${ACCOUNT}","text":"\\ud83d"}`)).to.deep.equal([
      { path: ['text'], message: 'must be well-formed Unicode' },
    ]);
    expect(await raw(`{"to":"${ACCOUNT}","text":"x","__proto__":{"a":1}}`)).to.deep.equal([
      { path: ['__proto__'], message: 'is not allowed' },
    ]);
  });

  it('refuses a list for one bad entry, and says where it is', async () => {
    const to: unknown[] = numbers(20);
    to[17] = '12';
    await expectDetails({ to, text: 'hello' }, [{ path: ['to', 17], message: NUMBER_MESSAGE }]);
    for (const bad of [
      '0123456789',
      '+',
      '',
      '1234567890123456',
      'x4477009',
      447700900001,
      null,
      {},
      ['447700900001'],
    ]) {
      await expectDetails({ to: ['447700900001', bad], text: 'hello' }, [{ path: ['to', 1], message: NUMBER_MESSAGE }]);
    }
  });

  it('refuses empty and endless lists', async () => {
    await expectDetails({ to: [], text: 'hello' }, [{ path: ['to'], message: 'must name at least one recipient' }]);
    await expectDetails({ to: numbers(10_001), text: 'hello' }, [
      { path: ['to'], message: 'must not name more than 10000 recipients' },
    ]);
  });

  it('reports the first 100 of very many problems, quickly', async () => {
    const startedAt = Date.now();
    const bad = await send({ to: Array.from({ length: 10_000 }, () => 'x'.repeat(50)), text: 'hello' });
    expect(bad.body.details).to.have.length(100);
    const many = Object.fromEntries(Array.from({ length: 11_000 }, (_, i) => [`f${i}`, 1]));
    const unknown = await send({ ...many, to: 'x', text: 'hello' });
    expect(unknown.status).to.equal(400);
    expect(unknown.body.details).to.have.length(100);
    expect((unknown.body.details as unknown[])[0]).to.deep.equal({ path: ['to'], message: NUMBER_MESSAGE });
    const long = await send({ ['n'.repeat(10_000)]: 1, to: ACCOUNT, text: 'hello' });
    expect(JSON.stringify(long.body).length).to.be.below(300);
    expect(Date.now() - startedAt).to.be.below(3_000);
  });

  it("sends from the token's own device", async () => {
    const shop = { workspace: 'main', device: 'shop' };
    await linkDevice(space.store, shop);
    const { value } = await api.newToken({ device: 'shop' });
    const { status, body } = await api.call('POST', '/send', { token: value, json: { to: ACCOUNT, text: 'hello' } });
    expect(status).to.equal(202);
    expect(await listOpenSends(space.store, shop)).to.deep.equal([body.messageId]);
    expect((await send({ to: ACCOUNT, text: 'hello' })).status, 'the default device has no account').to.equal(409);
  });
});
