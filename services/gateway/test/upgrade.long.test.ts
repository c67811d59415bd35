import { parseMessageId } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { READ_VERSIONS, RECORD_VERSION } from '@gateway/contracts/sends/send-layout';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { setPace } from '@gateway/store/devices/devices';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { accountForEvents } from '@gateway/testkit/chaos/events/account-for-events';
import { readToBeTold } from '@gateway/testkit/chaos/events/audience';
import { Receiver } from '@gateway/testkit/chaos/events/receiver';
import { Random } from '@gateway/testkit/chaos/random';
import { eventually } from '@gateway/testkit/eventually';
import { NEXT_VERSION } from '@gateway/testkit/next-version/settings';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';

const ACCOUNT = '491600000077';
const DEFAULT = { workspace: 'main', device: 'default' };
const LIST = 2_000;
const LEFT_BEHIND = 300;
const NEXT_RECORD = RECORD_VERSION + 1;
const WITHIN = { everyMs: 200 };

describe('an upgrade and the way back, under a list of 2,000 and one-time passwords', () => {
  const fixture = useGateway({ senders: 2, readyMs: 90_000, env: { WEBHOOK_NETWORKS: '127.0.0.1/32' } });
  const { space, gateway } = fixture;
  let receiver: Receiver;
  before(async () => {
    receiver = await Receiver.start('honest', new Random(1));
  });
  after(() => receiver.close());

  /** Slow while versions change, however busy the machine is, so that lists outlast it. 0: as fast as it goes. */
  async function pace(messagesPerMinute: number): Promise<void> {
    await setPace(space.store, DEFAULT, { messagesPerMinute, burst: 5, jitter: 0 });
    await ringDoorbell(space.store, { topic: 'sends', ...DEFAULT });
  }

  const record = (messageId: string) => sendKeys(space.store.space, DEFAULT, parseMessageId(messageId)!.tag).record;
  const versionOf = async (messageId: string) =>
    (await space.store.redis.getrangeBuffer(record(messageId), 0, 0))[0] ?? Number.NaN;

  /** Each by a token of its own, as limits are counted by token. */
  async function sendOtp(phone: string): Promise<string> {
    const { value } = await createApiToken(space.store, 'main', { name: 'otp', device: 'default' });
    const answer = await fetch(`${gateway.baseUrl}/otp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${value}`, 'content-type': 'application/json' },
      body: JSON.stringify({ phone, code: '482913' }),
    });
    const body = (await answer.json()) as { data?: { messageId: string } };
    expect(answer.ok, JSON.stringify(body)).to.equal(true);
    return body.data!.messageId;
  }

  /**
   * Asks for one after the other until it is ended; tells to whom, and by which version each was accepted. Each when the last
   * is shown and a message of a list after it: one-time passwords go first, and without a pause take all of the pace.
   */
  function keepSendingOtps(phones: string[]) {
    const sent: { phone: string; messageId: string; version: number }[] = [];
    let isOver = false;
    const ofLists = () => fixture.shown(ACCOUNT).length - sent.length;
    const work = (async () => {
      for (const phone of phones) {
        if (isOver) return;
        const messageId = await sendOtp(phone);
        sent.push({ phone, messageId, version: await versionOf(messageId) });
        await eventually(() => fixture.shown(ACCOUNT).includes(phone), WITHIN);
        const shown = ofLists();
        await eventually(() => isOver || ofLists() > shown, WITHIN);
      }
      throw new Error('there were too few phones');
    })();
    return {
      end: async () => {
        isOver = true;
        await work;
        return sent;
      },
    };
  }

  /** As docs/upgrade.md has it: the new one is ready before the old one is asked to go. */
  async function rollEvents(env: Record<string, string>): Promise<void> {
    const [old] = gateway.events.filter(({ isRunning }) => isRunning);
    await gateway.addEvents(env);
    expect(await old!.stop(), 'it stops by itself').to.equal(true);
  }
  async function rollSenders(env: Record<string, string>): Promise<void> {
    for (const old of gateway.senders.filter(({ isRunning }) => isRunning)) {
      await gateway.addSender(env);
      expect(await old.stop(), 'it stops by itself').to.equal(true);
    }
  }
  async function rollConnection(env: Record<string, string>): Promise<void> {
    const [old] = gateway.connections.filter(({ isRunning }) => isRunning);
    await gateway.addConnection(env);
    await old!.stop();
  }

  it('loses nothing and doubles nothing; what the next version accepted waits for it on the way back', async () => {
    expect(READ_VERSIONS).to.not.include(NEXT_RECORD);
    await gateway.addEvents();
    // What is gathered when versions change is told by another one.
    await createActiveWebhook(space.store, receiver.url, 'main', { gatherSeconds: 3 });
    await gateway.link(ACCOUNT);
    await pace(600);
    const list = makeNumbers(LIST, 1);
    const listId = await fixture.send(list, 'the list');
    const otps = keepSendingOtps(makeNumbers(LIST, 2));

    await rollEvents(NEXT_VERSION);
    await rollSenders(NEXT_VERSION);
    await rollConnection(NEXT_VERSION);
    await gateway.replaceApi(NEXT_VERSION);
    const leftBehind = makeNumbers(LEFT_BEHIND, 3);
    const leftId = await fixture.send(leftBehind, 'accepted by the next version');
    expect(await versionOf(leftId)).to.equal(NEXT_RECORD);
    await eventually(() => fixture.shown(ACCOUNT, 'accepted by the next version').length > 0, WITHIN);

    await pace(120);
    await gateway.replaceApi();
    await rollConnection({});
    const sent = await otps.end();
    await rollSenders({});
    await rollEvents({});
    expect(new Set(sent.map(({ version }) => version))).to.deep.equal(new Set([RECORD_VERSION, NEXT_RECORD]));
    expect(fixture.shown(ACCOUNT, 'the list').length, 'the list outlasted the roll').to.be.below(LIST);
    const shownBefore = fixture.shown(ACCOUNT, 'accepted by the next version').length;
    expect(shownBefore).to.be.below(LEFT_BEHIND);
    const refused = await gateway.call('GET', `/messages/${leftId}`);
    expect([refused.status, refused.headers.get('retry-after') !== null]).to.deep.equal([503, true]);
    await pace(0);
    await eventually(() => fixture.shown(ACCOUNT, 'the list').length >= LIST, WITHIN);
    expect(await versionOf(listId)).to.equal(RECORD_VERSION);
    expect(fixture.shown(ACCOUNT, 'accepted by the next version').length, 'left as it was').to.equal(shownBefore);

    await rollEvents(NEXT_VERSION);
    await rollSenders(NEXT_VERSION);
    await gateway.replaceApi(NEXT_VERSION);
    await eventually(() => fixture.shown(ACCOUNT, 'accepted by the next version').length >= LEFT_BEHIND, WITHIN);
    const wanted = [...list, ...leftBehind, ...sent.map(({ phone }) => phone)];
    await eventually(() => fixture.shown(ACCOUNT).length >= wanted.length, WITHIN);
    expect(fixture.shown(ACCOUNT).sort()).to.deep.equal(wanted.sort());

    const sends = [
      { messageId: listId, to: list },
      { messageId: leftId, to: leftBehind },
      ...sent.map(({ messageId, phone }) => ({ messageId, to: [phone] })),
    ].map((send) => ({ ...send, line: { address: DEFAULT } }));
    // For this process to read: the next version differs in this byte alone.
    for (const { messageId } of sends)
      await space.store.redis.setrange(record(messageId), 0, Buffer.from([RECORD_VERSION]));
    await eventually(async () => {
      const found: unknown[] = [];
      const toBeTold = await readToBeTold(space.store, sends, []);
      const { told } = accountForEvents(toBeTold, receiver.events, (...each) => found.push(each));
      expect(found.slice(0, 5)).to.deep.equal([]);
      expect(told).to.be.at.least(wanted.length);
      return true;
    }, WITHIN);
    expect(receiver.altered, 'what came again under its id').to.equal(0);
  });
});
