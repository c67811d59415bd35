import type { ApiDeps } from '@gateway/api/api-deps';
import { createApiMetrics, previewMetrics } from '@gateway/api/api-metrics';
import { EventWaits } from '@gateway/api/events/event-waits';
import { ToldMessages } from '@gateway/api/events/told-messages';
import { AddressWindows } from '@gateway/api/http/address-windows';
import { createApp } from '@gateway/api/http/app';
import { BodyBudget } from '@gateway/api/http/body/body-budget';
import { type HttpServer, startHttpServer } from '@gateway/api/http/http-server';
import { Turns } from '@gateway/api/http/turns';
import { type PreviewOptions, Previews } from '@gateway/api/previews/previews';
import { RedisHeadroom } from '@gateway/api/sends/redis-headroom';
import { defaultPace, type Pace } from '@gateway/contracts/devices/pace';
import { LIMITS } from '@gateway/contracts/limits';
import { parseNetworks } from '@gateway/egress/address-rules';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { createProducer } from '@gateway/queue/producer';
import { type Clock, systemClock } from '@gateway/runtime/clock';
import { parseEncryptionKeys } from '@gateway/runtime/config/encryption-keys';
import { createLogger, type Logger } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { readCapacity } from '@gateway/store/core/capacity';
import { DoorbellListener } from '@gateway/store/core/doorbells';
import { createStore, type Store } from '@gateway/store/core/store';
import { EventBells } from '@gateway/store/events/event-bells';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { takeBacklog } from '@gateway/store/limits/take-backlog';
import { type ApiToken, createApiToken, type NewToken } from '@gateway/store/workspace/tokens/api-tokens';
import { type RedisSpace, searchAllNodes } from '@gateway/testkit/redis-space';

import { checkAnswer } from './openapi-check.js';

export const BASE = '/api/messenger/v1';

export interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

export interface CallOptions {
  token?: string | undefined;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: string | Uint8Array | ReadableStream;
  signal?: AbortSignal;
}

export interface TestApi {
  /** `http://127.0.0.1:port`, without the base path. */
  origin: string;
  port: number;
  store: Store;
  /** Used by `call` unless it is given another. */
  token: string;
  /** With the token of this API unless another, or `undefined`, is given. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  newToken(options?: Partial<NewToken>): Promise<{ value: string; token: ApiToken }>;
  metrics(): Promise<string>;
  /** As when the process gets SIGTERM. */
  stop(): void;
  close(): Promise<void>;
}

export interface TestApiOptions {
  redisUrl?: string;
  pace?: Pace;
  trustedProxies?: number;
  requestTimeoutMs?: number;
  maxConnections?: number;
  maxPerAddress?: number;
  unreadMs?: number;
  bodyBudgetBytes?: number;
  fetchPolicy?: FetchPolicy;
  webhookPolicy?: FetchPolicy;
  previews?: Partial<PreviewOptions>;
  /** File servers that are asked beside the one that a message names. */
  mediaHosts?: readonly string[];
  blobQuotaBytes?: number;
  maxOptOuts?: number;
  contactChecksPerDay?: number;
  waits?: Partial<ApiDeps['waits']>;
  headroom?: RedisHeadroom;
  standing?: ApiDeps['standing'];
  logger?: Logger;
  clock?: Clock;
  /** Start although Redis is not there. */
  withoutRedis?: boolean;
}

/** One replica of the API on a port of its own, over the same Redis space as the test. */
export async function startTestApi(space: RedisSpace, options: TestApiOptions = {}): Promise<TestApi> {
  const logger = options.logger ?? createLogger({ service: 'api', level: 'error' });
  const clients = createRedisClients({ url: options.redisUrl ?? space.url, logger });
  if (!options.withoutRedis) await clients.waitForReady();
  searchAllNodes(clients.failFast);
  const keySpace = { prefix: space.prefix };
  const store = createStore({
    redis: clients.failFast,
    space: keySpace,
    keyRings: { credentials: [], contents: parseEncryptionKeys(space.keySettings.CONTENT_KEYS) },
  });
  const doorbells = await DoorbellListener.listen(space.clients.subscriber, keySpace);
  const eventBells = await EventBells.listen(space.clients.subscriber, keySpace);
  const producer = createProducer({ connection: clients.failFast, space: keySpace });
  const registry = createMetrics();
  const bodies = new BodyBudget(options.bodyBudgetBytes ?? 64 * 1024 * 1024);
  const eventWaits = new EventWaits(LIMITS.eventWaitsPerToken);
  const metrics = createApiMetrics(registry, { bodies, eventWaits });
  const stopping = new AbortController();
  // As long as a slow machine needs.
  const previews = new Previews({ ...previewMetrics(metrics), totalMs: 20_000, workMs: 10_000, ...options.previews });
  const tokenless = new AddressWindows(systemClock, LIMITS.tokenlessPerMinute);
  const server: HttpServer = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    requestTimeoutMs: options.requestTimeoutMs ?? 10_000,
    backlog: 4_096,
    maxConnections: options.maxConnections ?? 5_000,
    ...(options.maxPerAddress !== undefined && { maxPerAddress: options.maxPerAddress }),
    onDrop: () => metrics.droppedConnections.inc(),
    ...(options.unreadMs !== undefined && { unreadMs: options.unreadMs }),
    tokenless,
    app: createApp({
      tokenless,
      store,
      standing: options.standing,
      headroom:
        options.headroom ??
        new RedisHeadroom(
          (known, inUse) => readCapacity(store, known, inUse),
          systemClock,
          (use) => takeBacklog(store, use),
        ),
      producer,
      doorbells,
      eventBells,
      eventWaits,
      toldMessages: new ToldMessages(),
      clientVersion: new ClientVersion({ store, logger, clock: systemClock }),
      defaultPace: options.pace ?? defaultPace(0),
      trustedProxies: options.trustedProxies ?? 0,
      bodies,
      fetchPolicy: options.fetchPolicy ?? { ports: [80, 443], addresses: { allowed: [] } },
      webhookPolicy: options.webhookPolicy ?? { isSecure: true, addresses: { allowed: [] } },
      fetchTurns: new Turns(LIMITS.attachmentFetchesPerToken),
      media: {
        turns: new Turns(LIMITS.mediaPerToken),
        asked: new Map(),
        source: {
          policy: { addresses: { allowed: parseNetworks('127.0.0.0/8') }, anyCertificate: true },
          hostsOf: (named = 'nowhere.invalid') => [named, ...(options.mediaHosts ?? [])],
        },
      },
      previews,
      blobQuotaBytes: options.blobQuotaBytes ?? 1024 * 1024 * 1024,
      maxOptOuts: options.maxOptOuts ?? 1_000_000,
      contactChecksPerDay: options.contactChecksPerDay ?? 5_000,
      waits: {
        codeMs: 5_000,
        logoutMs: 5_000,
        otpMs: 5_000,
        contactsMs: 5_000,
        bodyMs: 5_000,
        takenMs: 2_000,
        ...options.waits,
      },
      metrics,
      clock: options.clock ?? systemClock,
      logger,
      stopping: stopping.signal,
    }),
  });
  const origin = `http://127.0.0.1:${server.port}`;
  const newToken: TestApi['newToken'] = (token = {}) => createApiToken(space.store, 'main', { name: 'test', ...token });
  const { value } = await newToken();
  return {
    origin,
    port: server.port,
    store,
    token: value,
    call: async (method, path, request = {}) => {
      const answer = await callApi(`${origin}${BASE}${path}`, method, { token: value, ...request });
      if (method !== 'HEAD') checkAnswer(method, path, answer);
      return answer;
    },
    newToken,
    metrics: () => registry.metrics(),
    stop: () => stopping.abort(),
    close: async () => {
      stopping.abort();
      await server.close();
      await previews.close();
      await producer.close();
      doorbells.close();
      eventBells.close();
      await clients.close();
    },
  };
}

async function callApi(
  url: string,
  method: string,
  { token, headers, json, body, signal }: CallOptions,
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(body !== undefined && { body, duplex: 'half' }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
}
