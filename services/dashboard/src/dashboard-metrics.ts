import {
  addMetrics,
  counter,
  gauge,
  histogram,
  LATENCY_BUCKETS,
  type Registry,
} from '@gateway/runtime/process/metrics';

/** What the console tells Prometheus. */
export const DASHBOARD_METRICS = {
  streams: gauge('gateway_console_live_streams', {
    help: 'Open live streams of the console: about one for each tab that is looked at.',
    question: 'How many people look at the console?',
  }),
  requestSeconds: histogram('gateway_console_request_duration_seconds', {
    help: 'Time from a request of the console to the end of its answer, without live streams.',
    question: 'Is the console quick, and does it fail?',
    labels: { method: 'open', route: 'open', status_code: 'open' },
    buckets: LATENCY_BUCKETS,
  }),
  refusedSignIns: counter('gateway_console_refused_sign_ins_total', {
    help: 'Attempts to sign in to the console with a wrong password or link.',
    question: 'Does someone guess passwords?',
  }),
} as const;

export type DashboardMetrics = ReturnType<typeof createDashboardMetrics>;

/** @param countStreams how many live streams are open. */
export function createDashboardMetrics(registry: Registry, { countStreams }: { countStreams: () => number }) {
  return addMetrics(registry, DASHBOARD_METRICS, { streams: (streams) => streams.set(countStreams()) });
}
