import { makeGauge, type Registry } from '@gateway/runtime/process/metrics';
import type { ClientVersion, VersionInForce } from './client-version.js';

/** Without a login the state would be that of the last one. */
const REFRESH_MS = 15_000;

/** Tells Prometheus how long the network will still take our version: alerts are in deploy/prometheus-rules.yml. */
export function addVersionMetrics(
  registry: Registry,
  version: Pick<ClientVersion, 'known' | 'read'>,
  nowMs: () => number,
): void {
  let readAtMs = Number.NEGATIVE_INFINITY;
  const gauge = (
    name: `gateway_client_version_${string}`,
    help: string,
    readValue: (known: VersionInForce) => number | undefined,
  ) =>
    makeGauge(registry, {
      name,
      help,
      collect(each) {
        if (nowMs() - readAtMs >= REFRESH_MS) {
          readAtMs = nowMs();
          void version.read().catch(() => undefined);
        }
        each.reset();
        const value = version.known && readValue(version.known);
        if (value === undefined) each.remove();
        else each.set(value);
      },
    });
  gauge(
    'gateway_client_version_expires_timestamp_seconds',
    'When the network will refuse the version that this client appears as. Absent until the network says so.',
    ({ expiresAtMs }) => expiresAtMs && expiresAtMs / 1000,
  );
  gauge(
    'gateway_client_version_age_seconds',
    'Age of the version that this client appears as: since its date, or since it was set here.',
    ({ sinceMs }) => sinceMs && Math.max(0, (nowMs() - sinceMs) / 1000),
  );
  gauge(
    'gateway_client_version_refused',
    '1 while no device logs in because the network refuses the version, else 0.',
    ({ isRefused }) => Number(isRefused),
  );
}
