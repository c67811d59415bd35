import type { GatewayEvent } from '@gateway/contracts/events/events';
import { openEvents } from '@gateway/store/events/open-events';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { eventually } from '@gateway/testkit/eventually';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { expect } from 'chai';
import { checkEvent } from './support/openapi-check.js';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

describe('messages that had to go for room before they were read', () => {
  const { space, api, owner } = useTestApi({ linked: true });
  const newToken = async () => (await api.newToken({ scopes: ['events'] })).value;
  beforeEach(() => openEvents(space.store, 'main'));

  /** @param mostBytes 0: all before it have to go. */
  async function write(platformId: string, mostBytes?: number): Promise<void> {
    const message = { platformId, jid: '491511234001@s.whatsapp.net', text: platformId };
    const room = mostBytes === undefined ? {} : { mostBytes };
    await recordReceived(space.store, owner.ownership, { message, nowMs: Date.now(), ...room });
    for (const full of await findFullOutboxes(space.store, 'main')) await relayOutbox(space.store, full);
  }
  async function read(after: string, token: string) {
    const { body } = await api.call('GET', `/events?types=message.received&after=${after}`, { token });
    const events = body.events as GatewayEvent[];
    for (const event of events) checkEvent(event);
    const texts = events.map(({ data }) => (data.content as { text: string | null }).text);
    return { texts, cursor: String(body.nextCursor) };
  }
  const counted = async () =>
    Number(/^gateway_read_events_without_content_total (\d+)$/m.exec(await api.metrics())![1]);

  it('are counted once for each token that reads of them, not where it reads again what it was told', async () => {
    const [one, other] = [await newToken(), await newToken()];
    await write('A');
    const { texts, cursor } = await read('0', one);
    expect(texts).to.deep.equal(['A']);
    await write('B');
    await write('C', 0);
    expect((await read('0', one)).texts, 'the first was told before').to.deep.equal([null, null, 'C']);
    expect(await counted()).to.equal(1);
    expect((await read(cursor, one)).texts).to.deep.equal([null, 'C']);
    expect(await counted()).to.equal(1);
    await read('0', other);
    expect(await counted()).to.equal(3);
  });

  it('are counted in streams, too', async () => {
    await write('A');
    await write('B', 0);
    const gone = new AbortController();
    const { body } = await fetch(`${api.origin}${BASE}/events/stream?after=0`, {
      headers: { authorization: `Bearer ${await newToken()}` },
      signal: gone.signal,
    });
    let heard = '';
    const reading = (async () => {
      for await (const piece of body!.pipeThrough(new TextDecoderStream())) heard += piece;
    })().catch(() => {});
    await eventually(() => heard.match(/^event: message.received$/gm)?.length === 2);
    gone.abort();
    await reading;
    expect(heard).to.include('"text":null');
    expect(await counted()).to.equal(1);
  });
});
