import { defaultPace } from '@gateway/contracts/devices/pace';
import { LIMITS } from '@gateway/contracts/limits';
import { webhookPolicy } from '@gateway/egress/webhook-policy';
import { mediaSource } from '@gateway/media/media-source';
import { createProducer } from '@gateway/queue/producer';
import { systemClock } from '@gateway/runtime/clock';
import type { ProcessHost } from '@gateway/runtime/process/process-host';
import { readCapacity } from '@gateway/store/core/capacity';
import { watchMasterOfRequests } from '@gateway/store/core/confirming/watch-master';
import { DoorbellListener } from '@gateway/store/core/doorbells';
import { awaitSchema, createStore } from '@gateway/store/core/store';
import { EventBells } from '@gateway/store/events/event-bells';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { takeBacklog } from '@gateway/store/limits/take-backlog';
import { addFleetMetrics } from '@gateway/store/survey/add-fleet-metrics';
import { createApiMetrics, previewMetrics } from './api-metrics.js';
import { type ApiConfig, availableBytes } from './config.js';
import { EventWaits } from './events/event-waits.js';
import { ToldMessages } from './events/told-messages.js';
import { AddressWindows } from './http/address-windows.js';
import { createApp } from './http/app.js';
import { BodyBudget } from './http/body/body-budget.js';
import { startHttpServer } from './http/http-server.js';
import { Turns } from './http/turns.js';
import { Previews, previewBounds } from './previews/previews.js';
import { addHeadroomMetrics } from './sends/headroom-metrics.js';
import { RedisHeadroom } from './sends/redis-headroom.js';

/** The Redis connections of the API: there is always a caller waiting. */
export const API_CONNECTIONS = ['failFast', 'failFastQueue', 'subscriber'] as const;

/** Builds the API top-down; each part says how it is stopped. */
export async function runApi(config: ApiConfig, host: ProcessHost<(typeof API_CONNECTIONS)[number]>): Promise<void> {
  const { lifecycle, clients, registry } = host;
  const logger = host.loggerOf('api');
  const space = { prefix: config.KEY_PREFIX };
  const store = createStore({
    redis: clients.failFast,
    space,
    keyRings: { credentials: [], contents: config.CONTENT_KEYS },
    confirmWrites: host.confirmWrites,
  });
  await awaitSchema(store, lifecycle);
  addFleetMetrics(host, store);
  host.noteSettings(config);

  const doorbells = await DoorbellListener.listen(clients.subscriber, space);
  lifecycle.add('doorbells of api', async () => doorbells.close());
  const eventBells = await EventBells.listen(clients.subscriber, space);
  lifecycle.add('bells of events', async () => eventBells.close());
  const producer = createProducer({ connection: clients.failFastQueue, space });
  lifecycle.add('producer of api', () => producer.close());

  const bodies = new BodyBudget(config.BODY_BUDGET_BYTES);
  const eventWaits = new EventWaits(LIMITS.eventWaitsPerToken);
  const metrics = createApiMetrics(registry, { bodies, eventWaits });
  const previews = new Previews({ ...previewMetrics(metrics), bounds: previewBounds(availableBytes()) });
  lifecycle.add('previews', () => previews.close());
  const headroom = new RedisHeadroom(
    (known, inUse) => readCapacity(store, known, inUse),
    systemClock,
    (use) => takeBacklog(store, use),
  );
  addHeadroomMetrics(registry, headroom);
  const tokenless = new AddressWindows(systemClock, LIMITS.tokenlessPerMinute);
  const server = await startHttpServer({
    host: config.API_HOST,
    port: config.API_PORT,
    requestTimeoutMs: config.REQUEST_TIMEOUT_SECONDS * 1000,
    backlog: config.LISTEN_BACKLOG,
    maxConnections: config.MAX_CONNECTIONS,
    maxPerAddress: config.MAX_CONNECTIONS_PER_ADDRESS,
    onDrop: () => metrics.droppedConnections.inc(),
    tokenless,
    app: createApp({
      tokenless,
      store,
      standing: watchMasterOfRequests(host, store),
      headroom,
      producer,
      doorbells,
      eventBells,
      eventWaits,
      toldMessages: new ToldMessages(),
      clientVersion: new ClientVersion({ store, clock: systemClock, logger, configured: config.MESSENGER_VERSION }),
      defaultPace: defaultPace(config.PACE_PER_MINUTE),
      trustedProxies: config.TRUST_PROXY,
      bodies,
      fetchPolicy: {
        ports: config.ATTACHMENT_PORTS,
        addresses: {
          allowed: config.ATTACHMENT_NETWORKS,
          denied: config.ATTACHMENT_DENIED_NETWORKS,
          nat64: config.NAT64_PREFIXES,
        },
      },
      webhookPolicy: webhookPolicy(config),
      fetchTurns: new Turns(LIMITS.attachmentFetchesPerToken),
      media: { source: mediaSource(config), turns: new Turns(LIMITS.mediaPerToken), asked: new Map() },
      previews,
      blobQuotaBytes: config.BLOB_QUOTA_BYTES,
      maxOptOuts: config.MAX_OPT_OUTS,
      contactChecksPerDay: config.CONTACT_CHECKS_PER_DAY,
      waits: {
        codeMs: LIMITS.connectWaitSeconds * 1000,
        logoutMs: LIMITS.disconnectWaitSeconds * 1000,
        otpMs: LIMITS.otpWaitSeconds * 1000,
        contactsMs: LIMITS.contactsWaitSeconds * 1000,
        bodyMs: LIMITS.bodySlowStartSeconds * 1000,
        takenMs: LIMITS.questionTakenSeconds * 1000,
      },
      metrics,
      clock: systemClock,
      logger,
      stopping: lifecycle.stopping,
    }),
  });
  lifecycle.add('http server', () => server.close());
  logger.info('api listens', { host: config.API_HOST, port: server.port, opsPort: host.opsPort });
}
