import { addMetrics, counter, gauge, type Registry } from '@gateway/runtime/process/metrics';

/** What the events service tells Prometheus. */
export const EVENTS_METRICS = {
  relayed: counter('gateway_events_relayed_total', {
    help: 'Entries that this process brought into the log of their workspace.',
    question: 'Do events come out of the outboxes?',
  }),
  relayFailed: counter('gateway_events_relay_failures_total', {
    help: 'Attempts to empty an outbox that failed; they are made again.',
    question: 'Why do events not come out of the outboxes?',
  }),
  waiting: gauge('gateway_events_outboxes', {
    help: 'Outboxes that held something at the last look around, every 10 seconds.',
    question: 'Do outboxes wait that no process empties?',
  }),
} as const;

export type EventsMetrics = ReturnType<typeof addEventsMetrics>;

export function addEventsMetrics(registry: Registry) {
  return addMetrics(registry, EVENTS_METRICS);
}
