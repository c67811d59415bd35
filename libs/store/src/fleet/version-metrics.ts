import { addMetrics, gauge, type Registry } from '@gateway/runtime/process/metrics';
import type { ClientVersion, VersionInForce } from './client-version.js';

export const VERSION_METRICS = {
  expires: gauge('gateway_client_version_expires_timestamp_seconds', {
    help: 'When the network will refuse the version that this client appears as. Absent until the network says so.',
    question: 'How long is there left to set another version?',
    of: 'fleet',
    combinations: [],
  }),
  age: gauge('gateway_client_version_age_seconds', {
    help: 'Age of the version that this client appears as: since its date, or since it was set here.',
    question: 'Is the version so old that the network may refuse it soon?',
    of: 'fleet',
    combinations: [],
  }),
  refused: gauge('gateway_client_version_refused', {
    help: '1 while no device logs in because the network refuses the version, else 0.',
    question: 'Is every device stopped until another version is set?',
    of: 'fleet',
  }),
} as const;

/** Without a login the state would be that of the last one. */
const REFRESH_MS = 15_000;

/** Tells Prometheus how long the network will still take our version: alerts are in deploy/prometheus/device-rules.yml. */
export function addVersionMetrics(
  registry: Registry,
  version: Pick<ClientVersion, 'known' | 'read'>,
  nowMs: () => number,
): void {
  let readAtMs = Number.NEGATIVE_INFINITY;
  const readSometimes = () => {
    if (nowMs() - readAtMs < REFRESH_MS) return;
    readAtMs = nowMs();
    void version.read().catch(() => undefined);
  };
  // For the first scrape.
  readSometimes();
  const show =
    (readValue: (known: VersionInForce) => number | undefined) =>
    (each: { reset(): void; remove(): void; set(value: number): void }) => {
      readSometimes();
      each.reset();
      const value = version.known && readValue(version.known);
      if (value === undefined) each.remove();
      else each.set(value);
    };
  addMetrics(registry, VERSION_METRICS, {
    expires: show(({ expiresAtMs }) => expiresAtMs && expiresAtMs / 1000),
    age: show(({ sinceMs }) => sinceMs && Math.max(0, (nowMs() - sinceMs) / 1000)),
    refused: show(({ isRefused }) => Number(isRefused)),
  });
}
