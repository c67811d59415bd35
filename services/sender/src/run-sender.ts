import { defaultPace } from '@gateway/contracts/devices/pace';
import { joinFleet } from '@gateway/fleet/join-fleet';
import { openSession } from '@gateway/messenger/session/open-session';
import { createConsumer } from '@gateway/queue/consumer';
import { createProducer } from '@gateway/queue/producer';
import { systemClock } from '@gateway/runtime/clock';
import type { ProcessHost } from '@gateway/runtime/process/process-host';
import { checkWrites } from '@gateway/store/core/check-writes';
import { DoorbellListener } from '@gateway/store/core/doorbells';
import { awaitSchema, createStore } from '@gateway/store/core/store';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { leaveMembers } from '@gateway/store/fleet/members';
import { addVersionMetrics } from '@gateway/store/fleet/version-metrics';
import { addFleetMetrics } from '@gateway/store/survey/add-fleet-metrics';
import PQueue from 'p-queue';
import type { SenderConfig } from './config.js';
import type { ProcessDeps } from './deps.js';
import { keptClaimsOf } from './dispatching/kept-claims.js';
import { SenderPool, TICK_MS } from './fleet/sender-pool.js';
import { Steward } from './fleet/steward.js';
import { MemoryBudget } from './scheduling/memory-budget.js';
import { createSenderMetrics } from './sender-metrics.js';

/** Files of up to ten megabytes in memory at a time. */
const MAX_UPLOADS = 4;
/** A socket costs some 40 ms of CPU until it is open. */
const MAX_OPENINGS = 8;
/** Below `terminationGracePeriodSeconds`, which is 90. */
const DRAIN_MS = 80_000;

/** Jobs at a time: each ends when its send is loaded. So that an OTP always finds a slot among long lists. */
const QUEUE_CONCURRENCY = 50;
/** A worker that cannot reach Redis does not keep us. */
const QUEUE_CLOSE_MS = 2_000;

/** The Redis connections of a sender. */
export const SENDER_CONNECTIONS = ['commands', 'failFast', 'queue', 'sessions', 'subscriber'] as const;

/**
 * Builds a sender from the bottom up; the lifecycle stops it from the top down.
 * @param parts what connects accounts to the network, where it is not the network itself.
 */
export async function runSender(
  config: SenderConfig,
  host: ProcessHost<(typeof SENDER_CONNECTIONS)[number]>,
  parts: Pick<ProcessDeps, 'openSession'> = { openSession },
): Promise<void> {
  const { lifecycle, clients, registry } = host;
  const logger = host.loggerOf('sender');
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
  lifecycle.add('doorbells of sender', async () => doorbells.close());
  const { processId } = host;
  const { keeper, formerProcessId } = await joinFleet(host, store, config);
  if (formerProcessId) await leaveMembers(store, formerProcessId);

  const memory = new MemoryBudget();
  const metrics = createSenderMetrics(registry, () => pool.countStates(), {
    maxDevices: config.MAX_DEVICES,
    readPlaces: () => pool.countPlaces(),
    memory,
  });
  const shared = { store, keeper, clock: systemClock, logger };
  const clientVersion = new ClientVersion({ store, clock: systemClock, logger, configured: config.MESSENGER_VERSION });
  host.share('version metrics', () => addVersionMetrics(registry, clientVersion, systemClock.nowMs));
  const claims = keptClaimsOf(store, shared);
  if (claims) lifecycle.add('claims', async () => claims.stop());
  const pool: SenderPool = new SenderPool({
    ...{ ...shared, ...parts, metrics, doorbells, processId, clientVersion },
    endpoint: { url: config.MESSENGER_URL, trust: config.MESSENGER_TRUST },
    defaultPace: defaultPace(config.PACE_PER_MINUTE),
    maxDevices: config.MAX_DEVICES,
    memberTtlMs: Math.max(config.SESSION_TTL_MS * 0.6, TICK_MS * 2.5),
    ackTimeoutMs: config.ACK_TIMEOUT_MS,
    memory,
    claims,
    uploads: new PQueue({ concurrency: MAX_UPLOADS }),
    openings: new PQueue({ concurrency: MAX_OPENINGS }),
  });
  const consumer = createConsumer({
    ...{ connection: clients.queue, space, processId, logger, concurrency: QUEUE_CONCURRENCY },
    handlers: {
      send: (job) => pool.takeJob(job),
      sends: async ({ sends }) => void (await Promise.all(sends.map((job) => pool.takeJob(job)))),
    },
  });
  // Stopped in reverse: nothing is waited for before the devices are handed over.
  lifecycle.add('queue', consumer.close, { timeoutMs: QUEUE_CLOSE_MS });
  const producer = createProducer({ connection: clients.queue, space });
  lifecycle.add('producer of sender', producer.close, { timeoutMs: QUEUE_CLOSE_MS });
  const steward = new Steward({ ...shared, producer });
  lifecycle.add('steward', () => steward.stop());
  host.addCheck('fleet', () => pool.assertReady());
  host.addCheck('writes', checkWrites(store));
  lifecycle.add('devices', () => pool.stop(), { timeoutMs: DRAIN_MS });
  logger.info('ready', { processId, opsPort: host.opsPort });
}
