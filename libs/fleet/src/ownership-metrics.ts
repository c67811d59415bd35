import { addMetrics, counter, type Registry } from '@gateway/runtime/process/metrics';

/** What a process that owns devices tells of its ownerships. */
export const OWNERSHIP_METRICS = {
  claims: counter('gateway_device_claims_total', {
    help: 'Attempts to own a device, by whether another process had it.',
    question: 'Do devices move between processes, or do processes fight for them?',
    labels: { outcome: ['claimed', 'taken'] },
  }),
  lostSessions: counter('gateway_lost_sessions_total', {
    help: 'Sessions, one for each shard with devices, that ended while the process lived.',
    question: 'Does a process lose its devices: is it too `late` with its renewals, or did Redis forget it (`gone`)?',
    labels: { cause: ['late', 'gone'] },
  }),
  lateRenewals: counter('gateway_late_renewals_total', {
    help: 'Renewals of sessions that came more than twice as late as they should.',
    question: 'Is a process, or its machine, so busy that it is about to lose its devices?',
  }),
} as const;

export type OwnershipMetrics = ReturnType<typeof addOwnershipMetrics>;

export function addOwnershipMetrics(registry: Registry) {
  const { claims, lostSessions, lateRenewals } = addMetrics(registry, OWNERSHIP_METRICS);
  return {
    countClaim: (outcome: 'claimed' | 'taken') => claims.inc({ outcome }),
    countLost: (cause: 'late' | 'gone') => lostSessions.inc({ cause }),
    countLate: () => lateRenewals.inc(),
  };
}
