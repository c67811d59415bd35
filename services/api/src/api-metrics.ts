import { RATE_LIMITS } from '@gateway/contracts/limits';
import { EGRESS_REASONS } from '@gateway/egress/egress-error';
import {
  addMetrics,
  counter,
  gauge,
  histogram,
  LATENCY_BUCKETS,
  type Registry,
  snakeCase,
} from '@gateway/runtime/process/metrics';
import type { EventWaits } from './events/event-waits.js';
import type { BodyBudget } from './http/body/body-budget.js';
import { PREVIEW_OUTCOMES, type PreviewOptions } from './previews/previews.js';

/** What the API tells Prometheus. Labels are templates and buckets, never what a caller wrote: their number is bounded. */
export const API_METRICS = {
  requestSeconds: histogram('gateway_http_request_duration_seconds', {
    help: 'Time from the headers of a request to the end of its answer.',
    question: 'Are callers answered, quickly, and with what status?',
    labels: { method: 'open', route: 'open', status_code: 'open' },
    // Of requests to send already the first failure counts: it has to be a rise.
    combinations: ['/send', '/otp'].flatMap((route) =>
      ['200', '202', '500', '503'].map((status_code) => ({ method: 'POST', route, status_code })),
    ),
    buckets: LATENCY_BUCKETS,
  }),
  bodyHeld: gauge('gateway_body_budget_held_bytes', {
    help: 'Bytes of request bodies and fetched files in memory.',
    question: 'How much of the budget for bodies is in use?',
  }),
  bodyCapacity: gauge('gateway_body_budget_capacity_bytes', {
    help: 'Bytes of request bodies and fetched files that may be in memory (BODY_BUDGET_BYTES).',
    question: 'When are requests refused for their size?',
  }),
  checkedContacts: counter('gateway_checked_contacts_total', {
    help: 'Numbers checked by callers, by whether they are on the messenger; `null`: there was no answer.',
    question: 'How many numbers are checked? The network dislikes many of them.',
    labels: { on_messenger: ['true', 'false', 'null'] },
  }),
  refusedUrls: counter('gateway_attachment_url_refusals_total', {
    help: 'Attachment URLs that were refused or could not be fetched.',
    question: 'Does a caller try to reach our network through us, or is a file server down?',
    labels: { refusal: EGRESS_REASONS },
  }),
  previews: counter('gateway_previews_total', {
    help: 'Files examined for size, length and preview, by outcome.',
    question: 'Are files sent that use up time or memory?',
    labels: { outcome: PREVIEW_OUTCOMES },
  }),
  waitingPreviews: gauge('gateway_waiting_previews', {
    help: 'Files that wait for a preview process.',
    question: 'Do requests with files wait for their turn?',
  }),
  eventWaits: gauge('gateway_event_waits', {
    help: 'Streams of events that are open, and calls that wait for events.',
    question: 'How many listen to events here? Each holds a connection.',
  }),
  readWithoutContent: counter('gateway_read_events_without_content_total', {
    help: 'Messages of people that were told to who reads events without their content, which had to go for room before; what a token reads again from the same process is not counted.',
    question: 'Do people write more than there is room for until it is read?',
  }),
  droppedConnections: counter('gateway_dropped_connections_total', {
    help: 'Connections closed at once because of MAX_CONNECTIONS.',
    question: 'Does someone hold all connections?',
  }),
  rateLimited: counter('gateway_rate_limited_requests_total', {
    help: 'Requests refused by a rate limit.',
    question: 'Which limit do callers run into?',
    labels: { bucket: [...Object.keys(RATE_LIMITS), 'failedTokens', 'tokenless'].map(snakeCase) },
  }),
} as const;

export type ApiMetrics = ReturnType<typeof createApiMetrics>;

interface Observed {
  bodies: Pick<BodyBudget, 'heldBytes' | 'capacityBytes'>;
  eventWaits: Pick<EventWaits, 'open'>;
}

export function createApiMetrics(registry: Registry, { bodies, eventWaits }: Observed) {
  const { rateLimited, ...metrics } = addMetrics(registry, API_METRICS, {
    bodyHeld: (held) => held.set(bodies.heldBytes),
    bodyCapacity: (capacity) => capacity.set(bodies.capacityBytes),
    eventWaits: (waits) => waits.set(eventWaits.open),
  });
  return { ...metrics, countRateLimited: (bucket: string) => rateLimited.inc({ bucket: snakeCase(bucket) }) };
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
