import { type createMetrics, makeCounter, makeGauge, makeHistogram } from '@gateway/runtime/process/metrics';
import type { BodyBudget } from './http/body/body-budget.js';
import type { PreviewOptions } from './previews/previews.js';

export type ApiMetrics = ReturnType<typeof createApiMetrics>;

/** What the API counts. Labels are templates and buckets, never what a caller wrote: their number is bounded. */
export function createApiMetrics(registry: ReturnType<typeof createMetrics>, bodies: BodyBudget) {
  makeGauge(registry, {
    name: 'gateway_body_budget_bytes',
    help: 'Bytes of request bodies and fetched files: in memory, and allowed.',
    labels: ['kind'],
    collect(gauge) {
      gauge.set({ kind: 'held' }, bodies.heldBytes);
      gauge.set({ kind: 'capacity' }, bodies.capacityBytes);
    },
  });
  return {
    requestSeconds: makeHistogram(registry, {
      name: 'gateway_http_request_seconds',
      help: 'Time from the headers of a request to the end of its answer.',
      labels: ['method', 'route', 'status'],
    }),
    acceptedRecipients: makeCounter(registry, {
      name: 'gateway_accepted_recipients_total',
      help: 'Recipients of accepted sends.',
    }),
    checkedContacts: makeCounter(registry, {
      name: 'gateway_checked_contacts_total',
      help: 'Numbers checked by callers, by whether they are on the messenger.',
      labels: ['on_messenger'],
    }),
    refusedUrls: makeCounter(registry, {
      name: 'gateway_attachment_url_refusals_total',
      help: 'Attachment URLs that were refused or could not be fetched.',
      labels: ['reason'],
    }),
    previews: makeCounter(registry, {
      name: 'gateway_previews_total',
      help: 'Files examined for size, length and preview, by outcome.',
      labels: ['outcome'],
    }),
    waitingPreviews: makeGauge(registry, {
      name: 'gateway_waiting_previews',
      help: 'Files that wait for a preview process.',
    }),
    droppedConnections: makeCounter(registry, {
      name: 'gateway_dropped_connections_total',
      help: 'Connections closed at once because of MAX_CONNECTIONS.',
    }),
    rateLimited: makeCounter(registry, {
      name: 'gateway_rate_limited_requests_total',
      help: 'Requests refused by a rate limit.',
      labels: ['bucket'],
    }),
  };
}

export function previewMetrics({
  previews,
  waitingPreviews,
}: ApiMetrics): Pick<PreviewOptions, 'onOutcome' | 'onWaiting'> {
  return {
    onOutcome: (outcome) => previews.inc({ outcome }),
    onWaiting: (count) => waitingPreviews.set(count),
  };
}
