import type { Pace } from '@gateway/contracts/devices/pace';
import type { PlatformIds } from '@gateway/contracts/sends/platform-id';
import type { HeldDevice, SessionKeeper } from '@gateway/fleet/session-keeper';
import type { OpenSessionOptions } from '@gateway/messenger/session/open-session';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import type { Endpoint } from '@gateway/messenger/socket/trust';
import type { Clock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import type { ClientVersion } from '@gateway/store/fleet/client-version';
import type PQueue from 'p-queue';
import type { KeptClaims } from './dispatching/kept-claims.js';
import type { MemoryBudget } from './scheduling/memory-budget.js';
import type { ResultWriter } from './scheduling/result-writer.js';
import type { SenderMetrics } from './sender-metrics.js';

export type Claims = Pick<KeptClaims, 'restMs' | 'since' | 'areKept'>;

/** What all devices of a process share. */
export interface ProcessDeps {
  store: Store;
  keeper: SessionKeeper;
  clock: Clock;
  logger: Logger;
  metrics: SenderMetrics;
  endpoint: Endpoint;
  /** Connects a device to the network. */
  openSession(options: OpenSessionOptions): Promise<MessengerSession>;
  clientVersion: ClientVersion;
  defaultPace: Pace;
  ackTimeoutMs: number;
  /** Bounds the uploads of the process, and with them the files in its memory. */
  uploads: PQueue;
  /** Bounds what active sends take of the memory. */
  memory: MemoryBudget;
  /** With `REDIS_WAIT_REPLICAS` alone. */
  claims?: Claims | undefined;
  /** Bounds how many sockets open at a time: their CPU time would delay the renewals of sessions. */
  openings: PQueue;
  /** An ownership that holds for this long went well. For tests. */
  lastedMs?: number;
  /** How often an owner looks at its device without a doorbell, with and without sends. For tests. */
  lookMs?: { busy: number; quiet: number };
}

/** What the parts of one device share that send its messages, for as long as this process owns it. */
export interface DeviceDeps {
  store: Store;
  ownership: HeldDevice;
  clock: Clock;
  /** Its lines name the device. */
  logger: Logger;
  metrics: SenderMetrics;
  ids: PlatformIds;
  results: ResultWriter;
  /** As those of the process. */
  claims?: Claims | undefined;
  /** A write was refused, or failed in a way that leaves us unsure of our ownership: the owner must end. */
  onFailed(error: Error): void;
}
