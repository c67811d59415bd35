import { makeCounter, makeGauge, makeHistogram, type Registry } from '@gateway/runtime/process/metrics';

export type DashboardMetrics = ReturnType<typeof createDashboardMetrics>;

/** @param countStreams how many live streams are open. */
export function createDashboardMetrics(registry: Registry, { countStreams }: { countStreams: () => number }) {
  makeGauge(registry, {
    name: 'gateway_console_live_streams',
    help: 'Open live streams of the console: about one for each tab that is looked at.',
    collect: (gauge) => gauge.set(countStreams()),
  });
  return {
    requestSeconds: makeHistogram(registry, {
      name: 'gateway_console_request_seconds',
      help: 'Time from a request of the console to the end of its answer, without live streams.',
      labels: ['method', 'route', 'status'],
    }),
    refusedSignIns: makeCounter(registry, {
      name: 'gateway_console_refused_sign_ins_total',
      help: 'Attempts to sign in to the console with a wrong password or link.',
    }),
  };
}
