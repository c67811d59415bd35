import { sayCursor } from '@gateway/contracts/events/cursor';
import type { GatewayEvent } from '@gateway/contracts/events/events';
import { sleep, systemClock } from '@gateway/runtime/clock';
import { describeReceived } from '@gateway/store/events/describe-received';
import { ReceivedReads } from '@gateway/store/events/reading/received-reads';
import { forgetReceivedFrom, recordReceived } from '@gateway/store/inbound/received-messages';
import { readWebhook } from '@gateway/store/webhooks/webhooks';
import { logFeed } from '@gateway/webhooks/log/log-feed';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const LENGTH = 65_536;
const MESSAGES = 30;
/** The longest that the network takes, each of another person. */
const textOf = (n: number) => String.fromCharCode(0x65e5 + n).repeat(LENGTH);

describe('long texts, told to a webhook that takes many at a time', () => {
  const { space, address, ownership, stage, relay, create } = useLoggedEndpoint();
  const receive = async (count = MESSAGES) => {
    for (let n = 0; n < count; n++) {
      const phone = `49151123${40_000 + n}`;
      const message = { platformId: `M${n}`, jid: `${phone}@s.whatsapp.net`, phone, text: textOf(n) };
      await recordReceived(space.store, ownership, { message, nowMs: Date.now() });
    }
  };
  const settings = { types: ['message.received'], concurrency: 20 };
  const textIn = ({ data }: GatewayEvent) => (data.content as { text: string | null }).text;
  const useFeed = async (describe = describeReceived) => {
    const { id } = await create(settings);
    await receive();
    await relay();
    const webhook = (await readWebhook(space.store, 'main', id))!;
    const memory = { passed: new Map(), reads: new Map(), due: new Map() };
    const feed = logFeed(space.store, 'main', { clock: systemClock, onGap: () => {}, memory, describe });
    const after = sayCursor({ entry: '0-0', offset: 0 });
    const readAll = async () => {
      const found = (await feed.findEnd(webhook, 'prompt', { after, most: 500, alone: 100 })) as { to: string };
      return feed.read(webhook, 'prompt', { after, to: found.to });
    };
    return { webhook, feed, readAll, after };
  };

  it('are told whole, each once, and no more of them at a time than there is room for', async () => {
    stage.roomBytes = 2 * 1024 * 1024;
    let [now, most] = [0, 0];
    stage.take = async () => {
      most = Math.max(most, ++now);
      await sleep(5);
      now--;
    };
    const run = await create(settings);
    await receive();
    await run();
    expect(stage.events.map((event) => textIn(event)![0]).sort()).to.deep.equal(
      Array.from({ length: MESSAGES }, (_, n) => textOf(n)[0]),
    );
    for (const event of stage.events) expect(textIn(event)).to.have.length(LENGTH);
    expect(most).to.be.within(2, 3);
  });

  it('are read again when they are posted: what waits for that holds no more than the longest one', async () => {
    const { webhook, feed, readAll } = await useFeed();
    const told = await readAll();
    expect(told).to.have.length(MESSAGES);
    expect(JSON.stringify(told)).to.have.length.below(LENGTH + MESSAGES * 500);
    for (const [n, each] of told.entries()) {
      const { body } = await feed.pack(webhook, [each]);
      expect(textIn(JSON.parse(body.toString()))).to.equal(textOf(n));
    }
  });

  it('are told without their words if they are erased meanwhile', async () => {
    const { webhook, feed, readAll } = await useFeed();
    const told = await readAll();
    await forgetReceivedFrom(space.store, address, ({ phone }) => phone?.endsWith(String(MESSAGES - 1)) === true);
    const { body } = await feed.pack(webhook, [told.at(-1)!]);
    expect(textIn(JSON.parse(body.toString()))).to.equal(null);
  });

  it('are opened once for all endpoints that tell of them at the same time, and anew after that', async () => {
    const reads = new ReceivedReads();
    const wanted = { receivedId: 'M0', arrivedAtMs: Date.now() };
    await receive(1);
    const describe = () => reads.describe(space.store, address, wanted);
    const former = { ...wanted, arrivedAtMs: 0 };
    const [one, other, ofFormer] = await Promise.all([
      ...[describe(), describe()],
      reads.describe(space.store, address, former),
    ]);
    expect(one).to.equal(other);
    expect(one, 'that of another message under the id').not.to.equal(ofFormer);
    const later = await describe();
    expect(later).to.deep.equal(one);
    expect(later).not.to.equal(one);
  });
});
