import { type createMetrics, makeCounter, makeHistogram } from '@gateway/runtime/metrics';

export type ApiMetrics = ReturnType<typeof createApiMetrics>;

/** What the API counts. Labels are templates and buckets, never what a caller wrote: their number is bounded. */
export function createApiMetrics(registry: ReturnType<typeof createMetrics>) {
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
    rateLimited: makeCounter(registry, {
      name: 'gateway_rate_limited_requests_total',
      help: 'Requests refused by a rate limit.',
      labels: ['bucket'],
    }),
  };
}
