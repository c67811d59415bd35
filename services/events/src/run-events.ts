import { webhookPolicy } from '@gateway/egress/webhook-policy';
import { takeName } from '@gateway/fleet/take-name';
import { inTime, systemClock } from '@gateway/runtime/clock';
import type { ProcessHost } from '@gateway/runtime/process/process-host';
import { watchMaster } from '@gateway/store/core/confirming/watch-master';
import { awaitSchema, createStore } from '@gateway/store/core/store';
import { EventBells } from '@gateway/store/events/event-bells';
import { endSessions } from '@gateway/store/webhooks/delivering/owners';
import { Deliveries } from '@gateway/webhooks/deliveries';
import type { EventsConfig } from './config.js';
import { addEventsMetrics } from './events-metrics.js';
import { Relay } from './relay/relay.js';
import { watchWebhooks } from './watch-webhooks.js';

/** The Redis connections of the events service. */
export const EVENTS_CONNECTIONS = ['commands', 'failFast', 'subscriber'] as const;

/** For what is only sooner with it. */
const PATIENCE_MS = 2_000;

/** Builds an events service; the lifecycle stops it. */
export async function runEvents(
  config: EventsConfig,
  host: ProcessHost<(typeof EVENTS_CONNECTIONS)[number]>,
): Promise<void> {
  const { lifecycle, clients, registry } = host;
  const logger = host.loggerOf('events');
  const space = { prefix: config.KEY_PREFIX };
  const store = createStore({
    redis: clients.commands,
    space,
    keyRings: { credentials: [], contents: config.CONTENT_KEYS },
    confirmWrites: host.confirmWrites,
  });
  await awaitSchema(store, lifecycle);
  host.noteSettings(config);
  // It owns no device, and posts nothing that replicas have not: only its readiness says so.
  watchMaster(host, store, config);
  const metrics = addEventsMetrics(registry);
  const relay = await Relay.start({ store, bells: clients.subscriber, logger, metrics });
  lifecycle.add('relay', () => relay.stop());
  // The endpoints of a process that died under this name need not wait until its session has run out.
  const former = (await takeName(host, store, config))?.formerProcessId;
  // For a moment: a node of Redis may be away.
  if (former !== undefined) await inTime(endSessions(store, former), PATIENCE_MS);
  const deliveries = new Deliveries({
    ...{ store, logger, counts: metrics, clock: systemClock, random: Math.random },
    owner: { processId: host.processId, sessionMs: config.SESSION_TTL_MS },
    policy: webhookPolicy(config),
  });
  const bells = await EventBells.listen(clients.subscriber, space);
  lifecycle.add('bells of deliveries', async () => bells.close());
  bells.onAny((workspace, news) => deliveries.wake(workspace, news));
  lifecycle.add('deliveries', () => deliveries.close());
  lifecycle.add('counts of webhooks', watchWebhooks({ store, clock: systemClock, logger, metrics }));
  logger.info('ready', { processId: host.processId, opsPort: host.opsPort });
}
