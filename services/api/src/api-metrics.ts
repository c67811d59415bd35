import { type createMetrics, makeCounter, makeGauge, makeHistogram } from '@gateway/runtime/process/metrics';
import type { BodyBudget } from './http/body/body-budget.js';
import type { PreviewOptions } from './previews/previews.js';

export type ApiMetrics = ReturnType<typeof createApiMetrics>;

/** What the API counts. Labels are templates and buckets, never what a caller wrote: their number is bounded. */
export function createApiMetrics(registry: ReturnType<typeof createMetrics>, bodies: BodyBudget) {
  makeGauge(registry, {
    name: 'gateway_body_budget_bytes',
    help: 'Bytes of request bodies and fetched files: how many are held, and how many may be.',
    labels: ['kind'],
    collect(gauge) {
      gauge.set({ kind: 'held' }, bodies.heldBytes);
      gauge.set({ kind: 'capacity' }, bodies.capacityBytes);
    },
  });
  return {
    requestSeconds: makeHistogram(registry, {
      name: 'gateway_http_request_seconds',
      help: 'Time from the head of a request to the end of its answer.',
      labels: ['method', 'route', 'status'],
    }),
    acceptedRecipients: makeCounter(registry, {
      name: 'gateway_accepted_recipients_total',
      help: 'Recipients of sends that were accepted.',
    }),
    checkedContacts: makeCounter(registry, {
      name: 'gateway_checked_contacts_total',
      help: 'Numbers that callers asked about, by whether the network knows them.',
      labels: ['on_messenger'],
    }),
    refusedUrls: makeCounter(registry, {
      name: 'gateway_attachment_url_refusals_total',
      help: 'URLs of attachments that were refused, or could not be fetched.',
      labels: ['reason'],
    }),
    previews: makeCounter(registry, {
      name: 'gateway_previews_total',
      help: 'Files that were to be described, by what became of it.',
      labels: ['outcome'],
    }),
    waitingPreviews: makeGauge(registry, {
      name: 'gateway_waiting_previews',
      help: 'Files that wait for a process which describes them.',
    }),
    droppedConnections: makeCounter(registry, {
      name: 'gateway_dropped_connections_total',
      help: 'Connections closed at once, beyond MAX_CONNECTIONS.',
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
