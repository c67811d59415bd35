import { systemClock } from '@gateway/runtime/clock';
import type { ProcessHost } from '@gateway/runtime/process/process-host';
import { addDoorbellLag } from '../core/doorbell-lag.js';
import { loadScripts } from '../core/scripts/load-scripts.js';
import type { Store } from '../core/store.js';
import { showFleet } from './fleet-metrics.js';
import { SharedSurvey } from './shared-survey.js';

/** Costs Redis the same whatever number of processes has it. Without Redis the last numbers stay, and their age grows. */
export function addFleetMetrics(host: ProcessHost<'failFast' | 'subscriber'>, store: Store): void {
  // A scrape does not wait for Redis without a limit, whatever the other commands of its role do.
  const redis = host.clients.failFast;
  const deps = { store: { ...store, redis, run: loadScripts(redis) }, clock: systemClock };
  host.share('fleet metrics', () => showFleet(host.registry, new SharedSurvey(deps), systemClock));
  const { subscriber } = host.clients;
  host.share('doorbell lag', () => addDoorbellLag(host.registry, { subscriber, redis, space: store.space }));
}
