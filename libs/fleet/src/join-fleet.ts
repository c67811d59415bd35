import { systemClock } from '@gateway/runtime/clock';
import type { ProcessHost } from '@gateway/runtime/process/process-host';
import { watchMaster } from '@gateway/store/core/confirming/watch-master';
import { onConnection, type Store } from '@gateway/store/core/store';
import { addOwnershipMetrics } from './ownership-metrics.js';
import { SessionKeeper } from './session-keeper.js';
import { takeName } from './take-name.js';

/** Those on a node that is away end by themselves. */
const SESSIONS_END_MS = 3_000;

export interface ProcessFleet {
  keeper: SessionKeeper;
  /** The process that had the name of this one, and died. */
  formerProcessId: string | undefined;
}

/** What a process owns devices with, the same for all of its roles. Throws `instance_in_use` when its name is taken. */
export function joinFleet(
  host: ProcessHost<'sessions' | 'subscriber'>,
  store: Store,
  config: { SESSION_TTL_MS: number; INSTANCE_NAME?: string },
): Promise<ProcessFleet> {
  return host.share('fleet', async () => {
    const { processId, lifecycle, clients } = host;
    const instance = await takeName(host, store, config);
    const standing = watchMaster(host, store, config);
    const keeper = new SessionKeeper({
      ...{ store: onConnection(store, clients.sessions), clock: systemClock, logger: lifecycle.logger },
      ...{ owner: processId, ttlMs: config.SESSION_TTL_MS },
      metrics: addOwnershipMetrics(host.registry),
      ...(standing && { standing }),
      ...(instance && { noteSession: instance.noteSession }),
    });
    keeper.start();
    lifecycle.add('sessions', () => keeper.stop(), { timeoutMs: SESSIONS_END_MS });
    return { keeper, formerProcessId: instance?.formerProcessId };
  });
}
