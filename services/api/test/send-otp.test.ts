import { otpText } from '@gateway/contracts/content/otp-text';
import { parseMessageId } from '@gateway/contracts/ids';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { GatewayError } from '@gateway/runtime/errors';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { cancelSend, type RecipientEvent, recordResults } from '@gateway/store/sends/change-send';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { readContent, readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { DEFAULT } from './support/device-owner.js';
import { type Answer, startTestApi, type TestApi, type TestApiOptions } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const OTP = { phone: '447700900001', code: '00731952' };

describe('POST /otp', () => {
  const others: TestApi[] = [];
  afterEach(async () => {
    for (const replica of others.splice(0)) await replica.close();
  });
  const { space, api, owner } = useTestApi({ linked: true });

  const replicaWith = async (options: TestApiOptions): Promise<TestApi> => {
    const replica = await startTestApi(space, options);
    others.push(replica);
    return replica;
  };
  const otp = (json: unknown = OTP, { key, target = api }: { key?: string; target?: TestApi } = {}): Promise<Answer> =>
    target.call('POST', '/otp', { json, token: api.token, ...(key && { headers: { 'idempotency-key': key } }) });
  const sends = () => listOpenSends(space.store, DEFAULT);
  const firstSend = () => eventually(async () => (await sends())[0], { everyMs: 5 });
  /** What a sender does once the network has spoken. */
  async function settle(messageId: string, event: RecipientEvent['event'], errorCode = 0): Promise<void> {
    const { tag } = parseMessageId(messageId)!;
    const events = [{ recipient: 0, part: 0, event, errorCode }];
    await recordResults(space.store, owner.ownership, { tag, nowMs: Date.now(), events });
    await ringDoorbell(space.store, { topic: 'results', ...DEFAULT });
  }

  it('answers 200 as soon as the network has accepted it', async () => {
    const pending = otp();
    const messageId = await firstSend();
    await settle(messageId, 'acked');
    const { status, body } = await pending;
    expect(status).to.equal(200);
    expect(body).to.have.all.keys('success', 'message', 'data');
    expect(body).to.include({ success: true, message: 'OTP sent' });
    const data = body.data as Record<string, string>;
    expect(data).to.include({ messageId, phone: OTP.phone, code: OTP.code, language: 'English' });
    expect(data.platformMessageId).to.match(/^3EB0[0-9A-F]{18}$/);
    expect(Date.parse(data.sentAt!)).to.be.closeTo(Date.now(), 5_000);
    expect(new Date(data.sentAt!).toISOString()).to.equal(data.sentAt);
    const shown = await api.call('GET', `/messages/${messageId}`);
    expect(shown.body.recipients).to.have.nested.property('[0].platformMessageIds');
  });

  it('tells when it was accepted, also when the phone had it before we looked', async () => {
    const pending = otp();
    const messageId = await firstSend();
    const { tag } = parseMessageId(messageId)!;
    const record = (nowMs: number, event: 'acked' | 'delivered') =>
      recordResults(space.store, owner.ownership, { tag, nowMs, events: [{ recipient: 0, part: 0, event }] });
    await record(1_900_000_000_000, 'acked');
    await record(1_900_000_005_000, 'delivered');
    const { body } = await pending;
    expect((body.data as Record<string, string>).sentAt).to.equal(new Date(1_900_000_000_000).toISOString());
  });

  it('is written down with its text, 5 minutes to live, and the urgency of an OTP', async () => {
    for (const language of ['English', 'Arabic'] as const) {
      const quick = await replicaWith({ waits: { otpMs: 1 } });
      const { body } = await otp({ ...OTP, language }, { target: quick });
      const { messageId } = body.data as { messageId: string };
      const send = (await readSend(space.store, DEFAULT, messageId))!;
      expect(send).to.include({ kind: 'otp', state: 'open', total: 1 });
      expect(send.expiresAtMs - send.createdAtMs).to.equal(5 * 60_000);
      const { content } = (await readContent(space.store, DEFAULT, send.tag))!;
      expect(content).to.deep.equal({ kind: 'text', text: otpText(OTP.code, language) });
      const [job] = await space.clients.commands.keys(`*:${messageId}`);
      expect(await space.clients.commands.hget(job!, 'priority')).to.equal('1');
    }
  });

  it('answers 202 when it is still unsent after the wait', async () => {
    const quick = await replicaWith({ waits: { otpMs: 50 } });
    const { status, body } = await otp(OTP, { target: quick });
    expect(status).to.equal(202);
    expect(body.message).to.equal('OTP queued');
    expect(body.data).to.have.all.keys('messageId', 'platformMessageId', 'phone', 'code', 'language');
  });

  it('answers 202 when the process stops: the OTP is promised', async () => {
    const stopping = await replicaWith({});
    const pending = otp(OTP, { target: stopping });
    await firstSend();
    stopping.stop();
    expect((await pending).status).to.equal(202);
  });

  it('takes codes of 4 to 8 digits, as strings with their zeros and as integers', async () => {
    const quick = await replicaWith({ waits: { otpMs: 1 } });
    const taken: [unknown, string][] = [
      ['0000', '0000'],
      ['00731952', '00731952'],
      [1234, '1234'],
      [12345678, '12345678'],
    ];
    for (const [code, expected] of taken) {
      const { status, body } = await otp({ phone: OTP.phone, code }, { target: quick });
      expect(status, String(code)).to.equal(202);
      expect(body.data).to.include({ code: expected });
    }
  });

  it('refuses what is no request for an OTP (400), all problems at once and without the values', async () => {
    const { status, body } = await otp({ phone: 'x', code: '12a4', language: 'Klingon', extra: 1 });
    expect(status).to.equal(400);
    expect(body.error).to.equal('Invalid request data');
    expect((body.details as { path: string[] }[]).map(({ path }) => path[0])).to.have.members([
      'phone',
      'code',
      'language',
      'extra',
    ]);
    expect(JSON.stringify(body)).not.to.match(/12a4|Klingon/);
    const { value: token } = await api.newToken();
    const codes = ['123', '123456789', 999, 100000000, 1234.5, -1234, '١٢٣٤', ' 1234', '12 34', true];
    for (const code of codes.slice(0, 9)) {
      const refused = await api.call('POST', '/otp', { token, json: { phone: OTP.phone, code } });
      expect(refused.body.details, String(code)).to.deep.equal([{ path: ['code'], message: 'must be 4 to 8 digits' }]);
    }
    expect(await sends()).to.deep.equal([]);
  });

  it('says that a recipient is not on the messenger (422)', async () => {
    const pending = otp();
    await settle(await firstSend(), 'failed', ownErrorCode('not_on_messenger'));
    const { status, body } = await pending;
    expect(status).to.equal(422);
    expect(body).to.deep.equal({ success: false, error: 'Recipient is not on the messenger' });
  });

  it('says why it was not sent (422)', async () => {
    const refused = otp();
    await settle(await firstSend(), 'failed', 463);
    expect((await refused).status).to.equal(422);
    expect((await refused).body).to.deep.equal({
      success: false,
      error: 'OTP was not sent',
      details: [{ path: ['phone'], message: 'network_463' }],
    });
    const cancelled = otp();
    await cancelSend(space.store, DEFAULT, await firstSend());
    await ringDoorbell(space.store, { topic: 'results', ...DEFAULT });
    expect((await cancelled).body.details).to.deep.equal([{ path: ['phone'], message: 'cancelled' }]);
  });

  it('needs a linked device (409)', async () => {
    await owner.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    const { status, body } = await otp();
    expect(status).to.equal(409);
    expect(body).to.deep.equal({ success: false, error: 'No connected messenger device found' });
  });

  it('takes 10 requests a minute (429)', async () => {
    const quick = await replicaWith({ waits: { otpMs: 1 } });
    const answers: Answer[] = [];
    for (let request = 0; request < 11; request++) answers.push(await otp(OTP, { target: quick }));
    expect(answers.map(({ status }) => status)).to.deep.equal([...Array(10).fill(202), 429]);
    expect(answers[0]!.headers.get('x-ratelimit-limit')).to.equal('10');
  });

  describe('with an Idempotency-Key', () => {
    it('gives the first answer again, the code from the request, also when the device is down', async () => {
      const pending = otp(OTP, { key: 'login-7' });
      const messageId = await firstSend();
      await settle(messageId, 'acked');
      const first = await pending;
      await settle(messageId, 'read');
      await owner.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
      const again = await otp({ language: 'English', ...OTP }, { key: 'login-7' });
      expect(again.status).to.equal(200);
      expect(again.body).to.deep.equal(first.body);
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
    });

    it('gives a 202 again, whatever became of it', async () => {
      const quick = await replicaWith({ waits: { otpMs: 1 } });
      const first = await otp(OTP, { key: 'login-7', target: quick });
      expect(first.status).to.equal(202);
      await settle((first.body.data as { messageId: string }).messageId, 'acked');
      const again = await otp(OTP, { key: 'login-7', target: quick });
      expect(again.status).to.equal(202);
      expect(again.body).to.deep.equal(first.body);
    });

    it('refuses another code under the same key (422), and a repeat while the first is waiting (409)', async () => {
      const pending = otp(OTP, { key: 'login-7' });
      const messageId = await firstSend();
      expect((await otp({ ...OTP, code: '00731953' }, { key: 'login-7' })).status).to.equal(422);
      expect((await otp(OTP, { key: 'login-7' })).status).to.equal(409);
      await settle(messageId, 'acked');
      expect((await pending).status).to.equal(200);
    });

    it('lets the repeat of a caller who hung up wait for the same OTP', async () => {
      const gone = new AbortController();
      const headers = { 'idempotency-key': 'login-7' };
      const aborted = api.call('POST', '/otp', { json: OTP, headers, signal: gone.signal }).catch(() => 'gone');
      const messageId = await firstSend();
      gone.abort();
      expect(await aborted).to.equal('gone');
      let repeat: Promise<Answer> | undefined;
      await eventually(async () => {
        const tried = otp(OTP, { key: 'login-7' });
        const status = await Promise.race([tried.then((answer) => answer.status), pause(200)]);
        if (status !== 409) repeat = tried;
        return repeat !== undefined;
      });
      await settle(messageId, 'acked');
      const { status, body } = await repeat!;
      expect(status).to.equal(200);
      expect(body.data).to.include({ messageId });
    });

    for (const [why, fail] of [
      ['which replicas had not confirmed', () => Object.assign(api.store, { confirmWrites: unconfirmed })],
      ['of which Redis did not answer', () => Object.assign(api.store, { run: withoutReply(api.store.run) })],
    ] as const) {
      it(`answers the repeat of one ${why} as it would have answered that`, async () => {
        const { confirmWrites, run } = api.store;
        fail();
        expect((await otp(OTP, { key: 'login-7' })).status).to.equal(503);
        Object.assign(api.store, { confirmWrites, run });
        const repeat = otp(OTP, { key: 'login-7' });
        const messageId = await firstSend();
        await settle(messageId, 'acked');
        const { status, body } = await repeat;
        expect(status).to.equal(200);
        expect(body.data).to.include({ messageId });
        expect(await sends()).to.deep.equal([]);
      });
    }

    it('keeps successes only: after a failure the repeat is a new try', async () => {
      const failing = otp(OTP, { key: 'login-7' });
      await settle(await firstSend(), 'failed', 403);
      expect((await failing).status).to.equal(422);
      const second = otp(OTP, { key: 'login-7' });
      await settle(await firstSend(), 'acked');
      expect((await second).status).to.equal(200);
    });
  });
});

const unconfirmed = async () => {
  throw new GatewayError({ code: 'not_confirmed', message: 'no replica has it' });
};

function withoutReply(run: RunScript): RunScript {
  return async (name, keys, args) => {
    const written = await run(name, keys, args);
    return name === 'accept-send' ? Promise.reject(new Error('Connection is closed.')) : written;
  };
}

const pause = (ms: number) => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), ms));
