import { otpText } from '@gateway/contracts/content/otp-text';
import { parseMessageId } from '@gateway/contracts/ids';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { readContent } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { expect } from 'chai';
import { expectNoTrace } from './support/find-traces.js';

const ACCOUNT = '491700000021';
const DEVICE = { workspace: 'main', device: 'default' };
const CODES = ['00731952', '40028613', '00994417'] as const;

describe('one-time passwords, end to end', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    gateway = await Gateway.start({ space, simulator, env: { SESSION_TTL_MS: '2000', LOG_LEVEL: 'debug' } });
    await gateway.link(ACCOUNT);
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  const otp = (body: object, key?: string) =>
    gateway.call('POST', '/otp', { body, ...(key && { headers: { 'idempotency-key': key } }) });
  const shownTo = async (number: string) =>
    (await readDeliveries(simulator, ACCOUNT)).filter(({ to, shown }) => to === number && shown > 0);
  const hasContent = async (messageId: string) =>
    (await readContent(space.store, DEVICE, parseMessageId(messageId)!.tag)) !== undefined;
  const progress = async (messageId: string) => (await gateway.call('GET', `/messages/${messageId}`)).body;

  it('arrive with the right text in both languages, and leave nothing of the code behind', async () => {
    const [english, arabic] = makeNumbers(2, 40) as [string, string];
    const sent: string[] = [];
    for (const [phone, language, code] of [
      [english, 'English', CODES[0]],
      [arabic, 'Arabic', CODES[1]],
    ] as const) {
      const { status, body } = await otp({ phone, code, language }, `key-${language}`);
      expect(status, JSON.stringify(body)).to.equal(200);
      expect(body.data).to.include({ phone, code, language });
      const [message] = await eventually(async () => {
        const shown = await shownTo(phone);
        return shown.length > 0 && shown;
      });
      expect(message).to.include({ text: otpText(code, language), shown: 1, id: body.data.platformMessageId });
      sent.push(body.data.messageId);
    }
    for (const messageId of sent) {
      await eventually(async () => (await progress(messageId)).status === 'read', { everyMs: 100 });
      expect(await hasContent(messageId)).to.equal(false);
    }
    await expectNoTrace(CODES, { space, gateway });
  });

  it('say at once that a number is not on the messenger', async () => {
    const [missing] = makeNumbers(1, 41) as [string];
    await fetch(`${simulator.adminUrl}/admin/phones/${missing}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ exists: false }),
    });
    const startedMs = performance.now();
    const { status, body } = await otp({ phone: missing, code: CODES[2] });
    expect(status).to.equal(422);
    expect(body.error).to.equal('Recipient is not on the messenger');
    expect(performance.now() - startedMs).to.be.below(3_000);
  });

  it('expire rather than arriving late, and leave nothing behind either', async () => {
    const [phone] = makeNumbers(1, 44) as [string];
    for (const sender of gateway.senders) await sender.stop();
    const { status, body } = await otp({ phone, code: CODES[0] }, 'late');
    expect(status).to.equal(202);
    expect(body.data).not.to.have.property('sentAt');
    const { messageId } = body.data;
    await expectNoTrace(CODES, { space, gateway });
    // Five minutes later.
    const pastMs = Date.now() - 1;
    await rewriteHead(space.store, DEVICE, messageId, { expiresAt: pastMs });
    await gateway.addSender();
    await gateway.waitForStatus('connected');
    await eventually(async () => (await progress(messageId)).status === 'expired', { everyMs: 200 });
    expect(await hasContent(messageId)).to.equal(false);
    const [other] = makeNumbers(1, 45) as [string];
    expect((await otp({ phone: other, code: CODES[1] })).status, 'the device sends').to.equal(200);
    expect(await shownTo(phone)).to.deep.equal([]);
    await expectNoTrace(CODES, { space, gateway });
  });
});
