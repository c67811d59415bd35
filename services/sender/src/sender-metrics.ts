import { RESTRICTIONS, type RestrictionKind } from '@gateway/contracts/devices/restriction';
import type { OwnRecipientError } from '@gateway/contracts/sends/recipient-errors';
import type { AckOutcome } from '@gateway/messenger/codes/ack-outcomes';
import { makeCounter, makeGauge, makeHistogram, type Registry } from '@gateway/runtime/process/metrics';

export type SenderMetrics = ReturnType<typeof createSenderMetrics>;

/** From an OTP in a hurry to a paced list of a day. */
const ACCEPT_TO_ACK_BUCKETS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 28_800, 86_400];

/** What the sender tells Prometheus. */
export function createSenderMetrics(registry: Registry, readDevices: () => Record<string, number>) {
  const acks = makeCounter(registry, {
    name: 'gateway_message_acks_total',
    help: 'Messages by the answer of the network.',
    labels: ['outcome'],
  });
  const acceptToAck = makeHistogram(registry, {
    name: 'gateway_accept_to_ack_seconds',
    help: 'Time from the acceptance of a send to the acknowledgement of each of its messages.',
    labels: ['kind'],
    buckets: ACCEPT_TO_ACK_BUCKETS_SECONDS,
  });
  const receipts = makeCounter(registry, {
    name: 'gateway_receipts_total',
    help: 'Receipts from phones, by kind.',
    labels: ['kind'],
  });
  const unsent = makeCounter(registry, {
    name: 'gateway_recipients_unsent_total',
    help: 'Recipients that got nothing although the network did not refuse them, by reason.',
    labels: ['reason'],
  });
  const failedLookUps = makeCounter(registry, {
    name: 'gateway_failed_lookups_total',
    help: 'Failed lookups of recipients, by reason; each is retried until its send expires.',
    labels: ['reason'],
  });
  for (const reason of LOOKUP_FAILURES) failedLookUps.inc({ reason }, 0);
  const optOutReplies = makeCounter(registry, {
    name: 'gateway_opt_out_replies_total',
    help: 'STOP and START replies from people.',
    labels: ['change'],
  });
  const disconnects = makeCounter(registry, {
    name: 'gateway_disconnects_total',
    help: 'Closed sockets, by reason.',
    labels: ['outcome'],
  });
  const contained = makeCounter(registry, {
    name: 'gateway_contained_errors_total',
    help: 'Uncaught errors that were traced to one device; the device was released and the process went on.',
  });
  const restricted = makeGauge(registry, {
    name: 'gateway_restricted_devices',
    help: 'Devices of this process whose messages to new contacts wait because the network restricts the account.',
    labels: ['kind'],
  });
  for (const kind of Object.keys(RESTRICTIONS)) restricted.set({ kind }, 0);
  const held = makeCounter(registry, {
    name: 'gateway_recipients_held_total',
    help: 'Recipients that began to wait for the end of a restriction or for the phone history; counted once per wait.',
  });
  const awaitingKey = makeCounter(registry, {
    name: 'gateway_sends_awaiting_key_total',
    help: 'Sends that wait because this process lacks the encryption key of their content; counted each time one is found.',
  });
  makeGauge(registry, {
    name: 'gateway_devices',
    help: 'Devices of this process, by the state of their socket.',
    labels: ['state'],
    collect(gauge) {
      gauge.reset();
      for (const [state, count] of Object.entries(readDevices())) gauge.set({ state }, count);
    },
  });
  return {
    countAck: (outcome: AckOutcome['kind']) => acks.inc({ outcome }),
    observeAck: (kind: string, ms: number) => acceptToAck.observe({ kind }, ms / 1000),
    countReceipts: (kind: string, count: number) => receipts.inc({ kind }, count),
    countUnsent: (reason: OwnRecipientError, count: number) => unsent.inc({ reason }, count),
    countFailedLookUp: (networkCode: number) => failedLookUps.inc({ reason: lookupFailureOf(networkCode) }),
    countOptOutReply: (change: 'optedOut' | 'optedIn') => optOutReplies.inc({ change }),
    countContained: () => contained.inc(),
    countRestricted: (kind: RestrictionKind, change: 1 | -1) => restricted.inc({ kind }, change),
    countHeld: (recipients: number) => held.inc(recipients),
    countAwaitingKey: () => awaitingKey.inc(),
    countDisconnect: (outcome: string) => disconnects.inc({ outcome }),
  };
}

const LOOKUP_FAILURES = ['no_answer', 'network_busy', 'no_devices', 'bad_keys', 'refused'] as const;

function lookupFailureOf(code: number): (typeof LOOKUP_FAILURES)[number] {
  if (code === 408 || code === 428) return 'no_answer';
  if (code === 429 || code >= 500) return 'network_busy';
  if (code === 404) return 'no_devices';
  return code === 400 || code === 406 ? 'bad_keys' : 'refused';
}
