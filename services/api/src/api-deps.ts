import type { Pace } from '@gateway/contracts/devices/pace';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import type { MediaDeps } from '@gateway/media/fetch-media';
import type { MediaSource } from '@gateway/media/media-source';
import type { Producer } from '@gateway/queue/producer';
import type { Clock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Standing } from '@gateway/store/core/confirming/standing';
import type { DoorbellListener } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import type { EventBells } from '@gateway/store/events/event-bells';
import type { ClientVersion } from '@gateway/store/fleet/client-version';
import type { ApiMetrics } from './api-metrics.js';
import type { EventWaits } from './events/event-waits.js';
import type { ToldMessages } from './events/told-messages.js';
import type { AddressWindows } from './http/address-windows.js';
import type { BodyBudget } from './http/body/body-budget.js';
import type { Turns } from './http/turns.js';
import type { Previews } from './previews/previews.js';
import type { RedisHeadroom } from './sends/redis-headroom.js';

/** What the API stands on. Its Redis client fails fast: there is always a caller waiting. */
export interface ApiDeps {
  store: Store;
  /** Of its master; see `watchMasterOfRequests`. */
  standing?: Pick<Standing, 'stands' | 'assert'> | undefined;
  headroom: RedisHeadroom;
  producer: Producer;
  doorbells: DoorbellListener;
  /** Ring when there are events. */
  eventBells: EventBells;
  /** Calls that wait for events, by token. */
  eventWaits: EventWaits;
  /** To those who read events, by token. */
  toldMessages: ToldMessages;
  clientVersion: Pick<ClientVersion, 'read'>;
  /** Of devices that the operator gave no other: the senders' default, for estimates. */
  defaultPace: Pace;
  /** Proxies whose `X-Forwarded-For` entries are believed. */
  trustedProxies: number;
  /** Counts requests that need no token, or are refused before it is looked for. */
  tokenless: AddressWindows;
  /** Memory for request bodies and the files fetched for them. */
  bodies: BodyBudget;
  /** Where the URL of an attachment may lead. */
  fetchPolicy: FetchPolicy;
  /** Where webhooks may lead. */
  webhookPolicy: FetchPolicy;
  /** Fetches under way, by token. */
  fetchTurns: Turns;
  /** Where files lie that people sent, and who fetches them. */
  media: {
    source: MediaSource;
    /** Under way, by token. */
    turns: Turns;
    asked: MediaDeps['asked'];
  };
  /** Describes files, in processes of their own. */
  previews: Previews;
  /** Bytes of attachments that a workspace may store where Redis has no `maxmemory`. */
  blobQuotaBytes: number;
  /** How many people callers may put on a workspace's list of opt-outs. */
  maxOptOuts: number;
  /** Numbers that may be checked in a day for each device. */
  contactChecksPerDay: number;
  /** How long callers wait for an owner's answer, or for the network to accept an OTP; and we for them. */
  waits: {
    codeMs: number;
    logoutMs: number;
    otpMs: number;
    contactsMs: number;
    /** Before a body must come at a certain speed. */
    bodyMs: number;
    /** For a sender to take a question; without one the device has none. */
    takenMs: number;
  };
  metrics: ApiMetrics;
  clock: Clock;
  logger: Logger;
  /** Aborted when the process begins to stop. */
  stopping: AbortSignal;
}
