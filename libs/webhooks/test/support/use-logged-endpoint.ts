import { once, setMaxListeners } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { type DeviceAddress, parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { makeWebhookSecret } from '@gateway/contracts/webhooks/signature';
import { DEFAULT_WEBHOOK_SETTINGS, type WebhookSettings } from '@gateway/contracts/webhooks/webhook';
import { parseNetworks } from '@gateway/egress/address-rules';
import { KeptConnections } from '@gateway/egress/connections/kept-connections';
import { ByteBudget } from '@gateway/runtime/bytes/byte-budget';
import { sleep } from '@gateway/runtime/clock';
import { ensureDevice } from '@gateway/store/devices/devices';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { createWebhook } from '@gateway/store/webhooks/webhooks';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { takeDevice } from '@gateway/testkit/ownership';
import { deliver } from '@gateway/webhooks/deliver';
import { type FeedMemory, logFeed } from '@gateway/webhooks/log/log-feed';
import { PostedRanges } from '@gateway/webhooks/posted-ranges';
import { LongWays } from '@gateway/webhooks/turns/long-ways';
import { expect } from 'chai';
import { useOwnedDevice } from '../../../store/test/support/use-owned-device.js';
import { ownerOf } from './owner-of.js';
import { silentCounts } from './silent-counts.js';

/** While a request is under way: no bell is heard here. */
const LOOK_AGAIN_MS = 100;
const ROOM_BYTES = 16 * 1024 * 1024;

export interface LoggedEndpoint {
  /** What was taken. */
  events: GatewayEvent[];
  /** Also what was refused. */
  posted: GatewayEvent[];
  /** What all requests are answered with. */
  status: number;
  /** With 422, or another status; 0: with a reset connection. */
  refuses(event: GatewayEvent): boolean | number;
  /** With `Retry-After`, of so many seconds. */
  asksFor(event: GatewayEvent): number;
  /** Before it answers. */
  take(event: GatewayEvent): Promise<void>;
  /** Of the clock of the deliverer and of what happens, before that of this machine. */
  aheadMs: number;
  /** For what is posted at a time, of endpoints that are made from then on. */
  roomBytes: number;
  /** Of which the deliverer counted the causes. */
  gaps: string[];
  /** Messages without content that the deliverer counted. */
  lostContents: number;
}

/** A server of this host, to which what happens to sends of a device is told by way of outbox and log; new for each test. */
export function useLoggedEndpoint() {
  const owned = useOwnedDevice();
  const { address, space, ownership } = owned;
  const stage = {} as LoggedEndpoint;
  const connections = new KeptConnections();
  let server: Server;
  before(async () => {
    server = createServer(async (req, res) => {
      const event = JSON.parse((await buffer(req)).toString());
      expect(req.headers['webhook-id']).to.equal(event.id);
      await stage.take(event);
      const refused = stage.refuses(event);
      const answer = refused === false ? stage.status : refused === true ? 422 : refused;
      if (answer > 0 && answer < 300) stage.events.push(event);
      stage.posted.push(event);
      if (answer === 0) res.destroy();
      else {
        const seconds = stage.asksFor(event);
        if (seconds > 0) res.setHeader('retry-after', seconds);
        res.writeHead(answer).end();
      }
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(async () => {
    await connections.close();
    server.closeAllConnections();
    server.close();
  });
  beforeEach(async () => {
    const taken = { events: [], posted: [], status: 200, aheadMs: 0, roomBytes: ROOM_BYTES, gaps: [], lostContents: 0 };
    Object.assign(stage, {
      ...taken,
      refuses: () => false,
      asksFor: () => 0,
      take: async () => {},
    } satisfies LoggedEndpoint);
    await ensureDevice(space.store, address);
  });
  const nowMs = () => Date.now() + stage.aheadMs;
  const relay = async () => {
    for (const full of await findFullOutboxes(space.store, 'main')) await relayOutbox(space.store, full);
  };

  const sendsOf = (device: DeviceAddress, owner: Ownership) => ({
    owner,
    async accept(recipients: string[], kind: 'text' | 'otp' = 'text'): Promise<SendTag> {
      const { messageId } = await acceptSend(space.store, device, {
        ...{ kind, content: { kind: 'text', text: 'hello' }, parts: 1, recipients, owner: 't', requestId: 'order-1' },
        ...{ nowMs: nowMs(), expiresAtMs: nowMs() + 24 * 3_600_000 },
      });
      return parseMessageId(messageId)!.tag;
    },
    record: (tag: SendTag, event: 'acked' | 'delivered' | 'read', from: number, to: number) =>
      recordResults(space.store, owner, {
        ...{ tag, nowMs: nowMs() },
        events: Array.from({ length: to - from }, (_, i) => ({ recipient: from + i, part: 0, event })),
      }),
  });

  return {
    ...{ ...owned, stage, relay },
    ...sendsOf(address, ownership),
    /** Of another device. */
    async useDevice(device: string) {
      const other = { ...address, device };
      const owner = await takeDevice(space.store, other, { owner: 'a', ttlMs: 60_000 });
      await ensureDevice(space.store, other);
      return sendsOf(other, owner!);
    },
    /** Answers what tells all that is to be told at once. */
    async create(settings: Partial<WebhookSettings> = {}) {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const made = await createWebhook(space.store, 'main', {
        settings: { ...DEFAULT_WEBHOOK_SETTINGS, ...settings },
        ...{ target: { url, headers: {} }, secrets: [{ secret: makeWebhookSecret('v1') }] },
      });
      if (made === 'full') throw new Error('full');
      const attempt = { webhookId: 'evt_0', atMs: 0, tookMs: 0, status: 200, error: null, answer: '' };
      await recordAttempt(space.store, 'main', made.id, { attempt, verifiesRevision: made.revision });
      const clock = { nowMs, monotonicMs: () => performance.now() };
      const deps = {
        ...{ store: space.store, clock },
        counts: {
          ...silentCounts,
          countGap: (cause: string) => void stage.gaps.push(cause),
          countLostContent: () => void stage.lostContents++,
        },
        policy: { isSecure: true as const, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
        ...{ random: () => 0.5, posted: new PostedRanges() },
        longWays: new LongWays(),
        ...{ connections, known: {}, memory: new ByteBudget(stage.roomBytes) },
        untilNews: () => sleep(LOOK_AGAIN_MS),
      };
      const begin = () => {
        const controller = new AbortController();
        setMaxListeners(0, controller.signal);
        return controller;
      };
      let ending = begin();
      const memory: FeedMemory = { passed: new Map(), reads: new Map(), due: new Map() };
      const onGap = () => void stage.gaps.push('log_gone');
      const makeFeed = () => logFeed(space.store, 'main', { clock, onGap, memory });
      const tellAs = async (processId: string): Promise<string> => {
        await relay();
        for (;;) {
          const process = { owner: ownerOf(processId), signal: ending.signal, feed: makeFeed() };
          const outcome = await deliver({ ...deps, ...process }, 'main', made.id);
          if (outcome !== 'more') return outcome;
        }
      };
      /** The process ends: nothing is decided of what is under way. The next one goes on. */
      const end = () => {
        const ended = ending;
        ending = begin();
        ended.abort();
      };
      return Object.assign(() => tellAs('process-1'), { id: made.id, memory, as: tellAs, end });
    },
    /** Changes of sends that were taken, by request. */
    rows: () =>
      stage.events.filter(({ type }) => type === 'messages.updated').map(({ data }) => data.changes as ChangeData[]),
  };
}
