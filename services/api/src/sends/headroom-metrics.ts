import { addMetrics, gauge, type Registry } from '@gateway/runtime/process/metrics';
import type { RedisHeadroom } from './redis-headroom.js';

export const HEADROOM_METRICS = {
  usedBytes: gauge('gateway_redis_used_bytes', {
    help: 'Memory that Redis uses.',
    question: 'How full is Redis?',
    of: 'fleet',
  }),
  limitBytes: gauge('gateway_redis_max_bytes', {
    help: 'The maxmemory of Redis; 0 if there is none.',
    question: 'When does Redis refuse new sends?',
    of: 'fleet',
  }),
  promisedBytes: gauge('gateway_redis_promised_bytes', {
    help: 'Memory of Redis that accepted recipients will still need.',
    question: 'Why are sends refused before Redis is full?',
    of: 'fleet',
  }),
  fileBytes: gauge('gateway_redis_files_bytes', {
    help: 'Memory of Redis that attachments take.',
    question: 'Are files what fills Redis?',
    of: 'fleet',
  }),
} as const;

/** How full Redis is. Reading it returns the last known state, and refreshes it. */
export function addHeadroomMetrics(registry: Registry, headroom: RedisHeadroom): void {
  const read = (field: keyof typeof HEADROOM_METRICS) => (gauge: { set(value: number): void }) => {
    headroom.hasRoom('list').catch(() => {});
    if (headroom.known) gauge.set(headroom.known[field]);
  };
  addMetrics(registry, HEADROOM_METRICS, {
    usedBytes: read('usedBytes'),
    limitBytes: read('limitBytes'),
    promisedBytes: read('promisedBytes'),
    fileBytes: read('fileBytes'),
  });
}
