import { OUTBOX_ENTRIES } from '@gateway/contracts/events/entry';
import { WEBHOOK_STATUSES, type WebhookAttempt, wasTaken } from '@gateway/contracts/webhooks/webhook';
import { addMetrics, counter, gauge, histogram, type Registry } from '@gateway/runtime/process/metrics';
import { GAP_CAUSES, type GapCause } from '@gateway/store/events/reading/gaps';
import { LANES, type Lane } from '@gateway/store/webhooks/delivering/lanes';
import type { WebhookSurvey } from '@gateway/store/webhooks/survey-webhooks';

const OUTCOMES = [
  'taken',
  'redirected',
  'refused',
  'gone',
  'too_large',
  'server_error',
  'no_answer',
  'not_allowed',
] as const;
type AttemptOutcome = (typeof OUTCOMES)[number];

/** From an event that is told at once to the end of an outage of three days. */
const TELL_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400, 259_200];

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
  longest: gauge('gateway_events_outbox_entries', {
    help: `Entries of the fullest outbox at the last look around; one has room for ${OUTBOX_ENTRIES}, or 16 MB.`,
    question: 'How near are we to a gap?',
  }),
  outboxAge: gauge('gateway_events_outbox_age_seconds', {
    help: 'Age of the oldest entry of an outbox at the last look around; 0 if there is none.',
    question: 'How late are all events, because no process brings them into their log?',
  }),
  gaps: counter('gateway_events_gaps_total', {
    help: 'Gaps that were told as `events.gap`: an outbox had no room, or Redis had lost it, the log did not go back to where an endpoint was, what an endpoint refuses was too much to keep, a send was forgotten before it was told of, or (`erased`, which is wanted) a person was.',
    question: 'Did receivers miss events, and so must read the state of their messages anew?',
    labels: { cause: GAP_CAUSES },
  }),
  withoutContent: counter('gateway_webhook_events_without_content_total', {
    help: 'Messages of people that an endpoint took without their content, which had to go for room before; a replay is not counted unless it had to be put aside.',
    question: 'Do people write more than there is room for until endpoints are told of it?',
  }),
  attempts: counter('gateway_webhook_attempts_total', {
    help: 'Requests to webhook endpoints, by how they were answered.',
    question: 'Do endpoints take what they are told, and if not: is it their answer, or the way there?',
    labels: { outcome: OUTCOMES },
  }),
  told: histogram('gateway_webhook_tell_duration_seconds', {
    help: 'Time from an event to the answer of the endpoint that took it; of a batch, from its first event.',
    question: 'How late do endpoints hear of things? Lists are gathered for 30 seconds, or as their owner says.',
    labels: { lane: LANES },
    buckets: TELL_BUCKETS,
  }),
  webhooks: gauge('gateway_webhooks', {
    help: 'Webhook endpoints of the installation, by status as in `/webhooks`.',
    question: 'How many endpoints are there, and how many hear nothing?',
    of: 'fleet',
    labels: { state: WEBHOOK_STATUSES },
  }),
  failingAge: gauge('gateway_webhook_failing_seconds', {
    help: 'For how long the endpoint fails that has failed for longest; 0 if none does.',
    question: 'Is there an endpoint whose owner must look at it? After 72 hours it is disabled.',
    of: 'fleet',
  }),
  parked: gauge('gateway_webhook_parked', {
    help: 'People and devices of whom events are put aside, as an endpoint refuses them while it takes others; of each endpoint.',
    question: 'Is there something that an endpoint cannot take, and so has not heard?',
    of: 'fleet',
  }),
  undeliveredAge: gauge('gateway_webhook_undelivered_age_seconds', {
    help: 'Age of the oldest entry that an active endpoint, which does not fail, has not been told.',
    question: 'Are deliveries late although endpoints answer?',
    of: 'fleet',
  }),
} as const;

export type EventsMetrics = ReturnType<typeof addEventsMetrics>;

export function addEventsMetrics(registry: Registry) {
  const metrics = addMetrics(registry, EVENTS_METRICS);
  return {
    ...metrics,
    countAttempt: (attempt: WebhookAttempt) => metrics.attempts.inc({ outcome: outcomeOf(attempt) }),
    observeTold: (lane: Lane, ms: number) => metrics.told.observe({ lane }, Math.max(0, ms) / 1000),
    countGap: (cause: GapCause) => metrics.gaps.inc({ cause }),
    countLostContent: () => metrics.withoutContent.inc(),
    showWebhooks(survey: WebhookSurvey, nowMs: number) {
      const { byStatus, parked, failingSinceMs = nowMs, undeliveredSinceMs = nowMs } = survey;
      for (const state of WEBHOOK_STATUSES) metrics.webhooks.set({ state }, byStatus[state]);
      metrics.parked.set(parked);
      metrics.failingAge.set(Math.max(0, nowMs - failingSinceMs) / 1000);
      metrics.undeliveredAge.set(Math.max(0, nowMs - undeliveredSinceMs) / 1000);
    },
  };
}

function outcomeOf({ status, error }: WebhookAttempt): AttemptOutcome {
  if (status === null) return error === 'not_allowed' ? 'not_allowed' : 'no_answer';
  if (wasTaken({ status })) return 'taken';
  if (status === 410) return 'gone';
  if (status === 413) return 'too_large';
  if (status >= 500) return 'server_error';
  return status >= 400 ? 'refused' : 'redirected';
}
