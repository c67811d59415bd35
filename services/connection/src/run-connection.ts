import { joinFleet } from '@gateway/fleet/join-fleet';
import { systemClock } from '@gateway/runtime/clock';
import type { ProcessHost } from '@gateway/runtime/process/process-host';
import { checkWrites } from '@gateway/store/core/check-writes';
import { DoorbellListener } from '@gateway/store/core/doorbells';
import { awaitSchema, createStore } from '@gateway/store/core/store';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { addVersionMetrics } from '@gateway/store/fleet/version-metrics';
import { addFleetMetrics } from '@gateway/store/survey/add-fleet-metrics';
import type { ConnectionConfig } from './config.js';
import { ConnectionController } from './connection-controller.js';
import { addConnectionMetrics } from './connection-metrics.js';

const TICK_MS = 1_000;

/** The Redis connections of the connection service. */
export const CONNECTION_CONNECTIONS = ['commands', 'failFast', 'sessions', 'subscriber'] as const;

/** Builds a connection service from the bottom up; the lifecycle stops it from the top down. */
export async function runConnection(
  config: ConnectionConfig,
  host: ProcessHost<(typeof CONNECTION_CONNECTIONS)[number]>,
): Promise<void> {
  const { lifecycle, clients, registry } = host;
  const logger = host.loggerOf('connection');
  const space = { prefix: config.KEY_PREFIX };
  const store = createStore({
    redis: clients.commands,
    space,
    keyRings: { credentials: config.CREDENTIAL_KEYS, contents: config.CONTENT_KEYS },
    confirmWrites: host.confirmWrites,
  });
  await awaitSchema(store, lifecycle);
  addFleetMetrics(host, store);
  host.noteSettings(config);

  const doorbells = await DoorbellListener.listen(clients.subscriber, space);
  lifecycle.add('doorbells of connection', async () => doorbells.close());
  const { keeper } = await joinFleet(host, store, config);

  const clientVersion = new ClientVersion({ store, clock: systemClock, logger, configured: config.MESSENGER_VERSION });
  const controller = new ConnectionController({
    ...{ store, keeper, doorbells, logger, clock: systemClock, clientVersion },
    endpoint: { url: config.MESSENGER_URL, trust: config.MESSENGER_TRUST },
    tickMs: TICK_MS,
  });
  lifecycle.add('controller', () => controller.stop());
  host.addCheck('writes', checkWrites(store));

  host.share('version metrics', () => addVersionMetrics(registry, clientVersion, systemClock.nowMs));
  addConnectionMetrics(registry, () => controller.running);
  logger.info('ready', { processId: host.processId, opsPort: host.opsPort });
}
