import type { InboundContent } from '@gateway/contracts/content/inbound-content';
import type { SendKind } from '@gateway/contracts/content/message-content';
import { exampleOf } from '@gateway/contracts/events/event-examples';
import { EVENT_TYPES, type GatewayEvent } from '@gateway/contracts/events/events';
import { parseMessageId } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import type { BreakerOutcome } from '@gateway/contracts/webhooks/breaker';
import { makeTestEvent } from '@gateway/contracts/webhooks/test-event';
import { recordObserved } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { openEvents } from '@gateway/store/events/open-events';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, expireSend, recordResults } from '@gateway/store/sends/change-send';
import { settleDelivery, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { addOptOuts, removeOptOut } from '@gateway/store/workspace/opt-outs';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import { readTold } from '../../../libs/store/test/support/read-told.js';
import { useOwnedDevice } from '../../../libs/store/test/support/use-owned-device.js';
import { checkEvent } from './support/openapi-check.js';

const PEOPLE = ['447700900121', '447700900122', '447700900123', '447700900124'];
const HOUR_MS = 3_600_000;

/** As the document of the API, not only the schema that it is made from, has each type of event. */
describe('events as they are documented', () => {
  const { address, space, ownership } = useOwnedDevice();
  beforeEach(async () => {
    await ensureDevice(space.store, address);
    await openEvents(space.store, 'main');
  });

  /** One that fails, one that is sent, one delivered, one read; one that expires, and one that is cancelled. */
  async function letSendsHappen(kind: SendKind): Promise<void> {
    const { store } = space;
    const nowMs = Date.now();
    const accept = async (recipients: string[]) => {
      const { messageId } = await acceptSend(store, address, {
        ...{ kind, content: { kind: 'text', text: 'hello' }, parts: 1, recipients, owner: 't', requestId: 'order-1' },
        ...{ nowMs, expiresAtMs: nowMs + HOUR_MS },
      });
      return messageId;
    };
    const receipts = (['acked', 'delivered', 'read'] as const).map((event) => ({ event }));
    const ofEach = [[{ event: 'failed', errorCode: 463 } as const], ...[1, 2, 3].map((n) => receipts.slice(0, n))];
    for (const [n, news] of ofEach.entries()) {
      const { tag } = parseMessageId(await accept([PEOPLE[n]!]))!;
      for (const each of news)
        await recordResults(store, ownership, { tag, nowMs, events: [{ recipient: 0, part: 0, ...each }] });
    }
    await expireSend(store, address, await accept(PEOPLE.slice(0, 1)), nowMs + 2 * HOUR_MS);
    await cancelSend(store, address, await accept(PEOPLE.slice(0, 1)));
  }

  async function letDeviceHappen(): Promise<void> {
    const observe = (observed: Parameters<typeof recordObserved>[2]['observed']) =>
      recordObserved(space.store, ownership, { actedOn: undefined, observed });
    const phone = PEOPLE[0]!;
    await observe({ status: 'connected', phone, name: 'Ada' });
    await observe({ status: 'connecting', reason: 'network', notBeforeMs: Date.now() + 5_000 });
    await observe({ status: 'connected', phone });
    await observe({ status: 'connecting', reason: 'network' });
    await observe({ status: 'disconnected', reason: 'logged_out' });
    for (const untilMs of [undefined, Date.now() + HOUR_MS]) {
      const restriction = { kind: 'reach_out_time_lock', sinceMs: 1, ...(untilMs && { untilMs }) } as const;
      await recordRestriction(space.store, ownership, restriction);
    }
    await recordRestriction(space.store, ownership, undefined);
  }

  async function letPeopleHappen(): Promise<void> {
    const to = { platformId: 'B2' };
    const keys = { directPath: '/d', mediaKey: 'key', sha256: 'hash', sealedSha256: 'sealed' };
    const media = { ...keys, mimeType: 'audio/ogg', bytes: 7, seconds: 3, filename: 'a.ogg' };
    const contents: InboundContent[] = [
      ...[{ type: 'text' } as const, { type: 'unsupported' } as const],
      { type: 'audio', media, voice: true },
      { type: 'location', latitude: 1.5, longitude: -2, name: 'Home' },
      { type: 'contact', contacts: [{ name: '', phones: PEOPLE }] },
      ...['👍', null].map((emoji) => ({ type: 'reaction', emoji, to }) as const),
      ...(['edited', 'pollVote', 'deleted'] as const).map((type) => ({ type, to })),
      { type: 'edited' as const, to, isSealed: true as const },
    ];
    for (const [n, content] of contents.entries()) {
      const written = { platformId: `3A${n}`, jid: '12345@lid', text: n % 2 === 0 ? 'hello' : '', content };
      const known = n % 2 === 0 && { phone: PEOPLE[0]!, name: 'Ann', atMs: Date.now(), replyTo: 'B2' };
      await recordReceived(space.store, ownership, { message: { ...written, ...known }, nowMs: Date.now() });
    }
    await addOptOuts(space.store, 'main', { numbers: PEOPLE, source: 'reply', atMs: Date.now() });
    await removeOptOut(space.store, 'main', PEOPLE[0]!);
    await space.store.redis.set(`${shardKeys(space.store.space, shardOf(address)).outbox('main')}:missing`, 7);
  }

  async function letWebhookHappen(): Promise<void> {
    const id = await createActiveWebhook(space.store, 'https://example.com/');
    const owner = { processId: 'process-1', sessionMs: HOUR_MS };
    const taken = await takeWebhook(space.store, { workspace: 'main', id }, owner);
    if (typeof taken === 'string') throw new Error(taken);
    const breaker = { sinceMs: Date.now() };
    const outcomes: [BreakerOutcome, status: number | null][] = [
      [{ status: 'failing', breaker, tell: 'failing' }, 503],
      [{ status: 'active', breaker: {}, tell: 'recovered' }, 200],
      [{ status: 'disabled', breaker, tell: 'disabled' }, null],
    ];
    for (const [n, [outcome, status]] of outcomes.entries()) {
      const attempt = { webhookId: 'evt_1', atMs: Date.now(), tookMs: 1, status, error: null, answer: '' };
      const write = { lane: 'prompt', state: { cursor: `${n + 1}-0` }, nowMs: Date.now() } as const;
      expect(await settleDelivery(space.store, taken, write, { attempt, outcome })).to.equal(true);
    }
  }

  it('are so in the example of each type', () => {
    for (const type of EVENT_TYPES) checkEvent(exampleOf(type));
  });

  it('are so as they happen, of each type', async () => {
    for (const kind of ['text', 'otp'] as const) await letSendsHappen(kind);
    await letDeviceHappen();
    await letPeopleHappen();
    await letWebhookHappen();
    const tested = JSON.parse(makeTestEvent('wh_0123456789abcdef', Date.now()).body.toString()) as GatewayEvent;
    const events = [tested, ...(await readTold(space.store))];
    for (const event of events) checkEvent(event);
    expect([...new Set(events.map(({ type }) => type))]).to.have.members(EVENT_TYPES);
  });

  it('are not so with a field that the document does not know, nor without one that it promises', () => {
    for (const type of EVENT_TYPES) {
      const event = exampleOf(type);
      const { version: _version, ...others } = event;
      const data = { ...event.data, secret: 'x' };
      for (const wrong of [others, { ...event, data }, { ...event, type: 'webhook.tested' }])
        expect(() => checkEvent(wrong as GatewayEvent), JSON.stringify(wrong)).to.throw();
    }
  });
});
