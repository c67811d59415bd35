import { makeGauge, type Registry } from '@gateway/runtime/process/metrics';
import type { RedisHeadroom } from './redis-headroom.js';

/** How full Redis is. Reading it returns the last known state, and refreshes it. */
export function addHeadroomMetrics(registry: Registry, headroom: RedisHeadroom): void {
  makeGauge(registry, {
    name: 'gateway_redis_bytes',
    help: 'Memory of Redis in bytes: used, reserved for accepted recipients, used by attachments, and maxmemory (0 for none).',
    labels: ['kind'],
    collect: (gauge) => {
      headroom.hasRoom('list').catch(() => {});
      if (!headroom.known) return;
      const { usedBytes, promisedBytes, fileBytes, limitBytes } = headroom.known;
      gauge.set({ kind: 'used' }, usedBytes);
      gauge.set({ kind: 'promised' }, promisedBytes);
      gauge.set({ kind: 'files' }, fileBytes);
      gauge.set({ kind: 'limit' }, limitBytes);
    },
  });
}
