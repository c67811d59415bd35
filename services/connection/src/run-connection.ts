import { hostname } from 'node:os';
import { makeProcessId } from '@gateway/contracts/ids';
import { systemClock } from '@gateway/runtime/clock';
import { loggerOptions } from '@gateway/runtime/config/gateway-config';
import { createLogger } from '@gateway/runtime/logs/logger';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { createMetrics, makeGauge } from '@gateway/runtime/process/metrics';
import { startOpsServer } from '@gateway/runtime/process/ops-server';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { refuseWrongSettings } from '@gateway/runtime/redis/redis-settings';
import { DoorbellListener } from '@gateway/store/core/doorbells';
import { checkSchema, createStore } from '@gateway/store/core/store';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { LeaseKeeper } from '@gateway/store/fleet/lease-keeper';
import { addVersionMetrics } from '@gateway/store/fleet/version-metrics';
import type { ConnectionConfig } from './config.js';
import { ConnectionController } from './connection-controller.js';

const TICK_MS = 1_000;

/** Builds a connection service from the bottom up; the lifecycle stops it from the top down. */
export async function runConnection(config: ConnectionConfig, lifecycle: Lifecycle): Promise<{ opsPort: number }> {
  const logger = createLogger(loggerOptions(config, 'connection'));
  lifecycle.logger = logger;
  const space = { prefix: config.KEY_PREFIX };
  const clients = createRedisClients({ url: config.REDIS_URL, logger, name: 'connection' });
  lifecycle.add('redis', clients.close);
  await clients.waitForReady();
  await refuseWrongSettings(clients.commands);
  const store = createStore({
    redis: clients.commands,
    space,
    keyRings: { credentials: config.CREDENTIAL_KEYS, contents: config.CONTENT_KEYS },
  });
  await checkSchema(store);

  const doorbells = await DoorbellListener.listen(clients.subscriber, space);
  lifecycle.add('doorbells', async () => doorbells.close());
  const owner = makeProcessId('connection', hostname());
  const keeper = new LeaseKeeper({ store, clock: systemClock, logger, owner, ttlMs: config.LEASE_TTL_MS });
  keeper.start();
  lifecycle.add('leases', async () => keeper.stop());

  const clientVersion = new ClientVersion({ store, clock: systemClock, logger, configured: config.MESSENGER_VERSION });
  const controller = new ConnectionController({
    ...{ store, keeper, doorbells, logger, clock: systemClock, workspace: config.WORKSPACE, clientVersion },
    endpoint: { url: config.MESSENGER_URL, trust: config.MESSENGER_TRUST },
    tickMs: TICK_MS,
    holdAfterMs: config.HOLD_AFTER_MS,
  });
  lifecycle.add('controller', () => controller.stop());

  const registry = createMetrics('connection', { processMetrics: true });
  addVersionMetrics(registry, clientVersion, systemClock.nowMs);
  makeGauge(registry, {
    name: 'gateway_connection_tasks',
    help: 'Devices that are being linked, logged out or held.',
    collect: (gauge) => gauge.set(controller.running),
  });
  const ops = await startOpsServer({
    ...{ host: config.OPS_HOST, port: config.OPS_PORT, registry, logger, stopping: lifecycle.stopping },
    checks: { redis: async () => void (await clients.failFast.ping()) },
  });
  lifecycle.add('ops', ops.close);
  logger.info('ready', { processId: owner, opsPort: ops.port });
  return { opsPort: ops.port };
}
