import type { Pace } from '@gateway/contracts/devices/pace';
import type { Endpoint } from '@gateway/messenger/socket/trust';
import type { Producer } from '@gateway/queue/producer';
import type { Clock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { RedisClients } from '@gateway/runtime/redis/redis-clients';
import type { Store } from '@gateway/store/core/store';
import type { ClientVersion } from '@gateway/store/fleet/client-version';
import type { LeaseKeeper } from '@gateway/store/fleet/lease-keeper';
import type PQueue from 'p-queue';
import type { SenderMetrics } from './sender-metrics.js';

/** What all devices of a process share. */
export interface ProcessDeps {
  store: Store;
  keeper: LeaseKeeper;
  producer: Producer;
  /** For the workers of all devices. */
  queueConnection: RedisClients['queue'];
  clock: Clock;
  logger: Logger;
  metrics: SenderMetrics;
  endpoint: Endpoint;
  clientVersion: ClientVersion;
  defaultPace: Pace;
  ackTimeoutMs: number;
  /** Bounds the uploads of the process, and with them the files in its memory. */
  uploads: PQueue;
  /** Bounds how many sockets open at a time: their CPU time would delay the renewals of leases. */
  openings: PQueue;
  /** An ownership that holds for this long went well. For tests. */
  lastedMs?: number;
}
