import { SEND_KINDS, type SendKind } from '@gateway/contracts/content/message-content';
import { RESTRICTIONS, type RestrictionKind } from '@gateway/contracts/devices/restriction';
import { OWNERSHIP_METRICS } from '@gateway/fleet/ownership-metrics';
import { ACK_OUTCOMES, type AckOutcome } from '@gateway/messenger/codes/ack-outcomes';
import { DISCONNECT_KINDS, type DisconnectOutcome } from '@gateway/messenger/codes/disconnect-policy';
import { RETRY_OUTCOMES, type RetryOutcome } from '@gateway/messenger/codes/retry-outcomes';
import { addMetrics, counter, gauge, histogram, type Registry, snakeCase } from '@gateway/runtime/process/metrics';
import { DOORBELL_METRICS } from '@gateway/store/core/doorbell-lag';
import { VERSION_METRICS } from '@gateway/store/fleet/version-metrics';
import { FLEET_METRICS } from '@gateway/store/survey/fleet-metrics';
import type { MemoryBudget } from './scheduling/memory-budget.js';
import { ACTIVE_PLACES, type PlaceCounts } from './scheduling/places.js';

/** What a process tells of itself if it owns devices, or hears doorbells. */
export const OWNER_METRICS = { ...OWNERSHIP_METRICS, ...DOORBELL_METRICS } as const;

/** What processes tell of the installation. */
export const INSTALLATION_METRICS = { ...FLEET_METRICS, ...VERSION_METRICS } as const;

/** From an OTP in a hurry to the last recipient of a paced list of a day. */
const WAIT_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 43_200, 86_400];
/** From a near server to the patience with an ack. */
const ACK_BUCKETS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/** From a phone that is on to one that was off for days. */
const DELIVERY_BUCKETS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1_800, 7_200, 28_800, 86_400, 604_800];

const LOOKUP_FAILURES = ['no_answer', 'network_busy', 'no_devices', 'bad_keys', 'refused'] as const;
const OWNER_PHASES = ['backing_off', 'opening', 'open', 'waiting', 'ended'] as const;

/** What the sender tells Prometheus. */
export const SENDER_METRICS = {
  acceptToClaim: histogram('gateway_accept_to_claim_duration_seconds', {
    help: 'Time from the acceptance of a send to each claim of one of its messages for an attempt.',
    question: 'Do messages wait too long for their turn, before the network has anything to do with it?',
    labels: { kind: SEND_KINDS },
    buckets: WAIT_BUCKETS,
  }),
  claimToAck: histogram('gateway_claim_to_ack_duration_seconds', {
    help: 'Time from the claim of a message to the answer of the network, by what it was.',
    question: 'Is the network slow, and what does it refuse? The count is that of all answers.',
    labels: { kind: SEND_KINDS, outcome: ACK_OUTCOMES.map(snakeCase) },
    buckets: ACK_BUCKETS,
  }),
  acceptToAck: histogram('gateway_accept_to_ack_duration_seconds', {
    help: 'Time from the acceptance of a send to the good acknowledgement of each of its messages.',
    question:
      'How many of those that were accepted got there in time? Divide by gateway_recipients_accepted_total, for what fails is not in here.',
    labels: { kind: SEND_KINDS },
    buckets: WAIT_BUCKETS,
  }),
  ackToDelivery: histogram('gateway_ack_to_delivery_duration_seconds', {
    help: 'Time from the good acknowledgement of a recipient to their delivery; phones may be off.',
    question: 'Do messages that the network took reach phones? Compare the count with that of sent recipients.',
    labels: { kind: SEND_KINDS },
    buckets: DELIVERY_BUCKETS,
  }),
  paceWait: counter('gateway_pace_wait_seconds_total', {
    help: 'Time for which devices with something to send waited for their pace.',
    question: 'Is the pace what holds messages up? The rate is the number of devices that wait for it.',
  }),
  uploads: counter('gateway_uploads_total', {
    help: 'Uploads of files to the network, by how they ended.',
    question: 'Does the network take files?',
    labels: { outcome: ['stored', 'failed', 'unreadable'] },
  }),
  active: gauge('gateway_active_recipients', {
    help: 'Recipients of the sends that this process works on, by where they wait.',
    question: 'What do messages wait for: a lookup, their turn (ready), an ack, a pause, the end of a restriction?',
    labels: { place: ACTIVE_PLACES.map(snakeCase) },
  }),
  receipts: counter('gateway_receipts_total', {
    help: 'Receipts from phones, duplicates included.',
    question: 'Do receipts arrive at all?',
    labels: { receipt: ['delivered', 'read'] },
  }),
  retryReceipts: counter('gateway_retry_receipts_total', {
    help: 'Requests of phones for a message that they could not decrypt, by what became of them.',
    question: 'Can phones read what they get? A rise means that keys do not fit.',
    labels: { outcome: RETRY_OUTCOMES },
  }),
  failedLookups: counter('gateway_failed_lookups_total', {
    help: 'Failed lookups of recipients; each is repeated until its send expires.',
    question: 'Are messages late because the network does not tell who recipients are?',
    labels: { cause: LOOKUP_FAILURES },
  }),
  optOutReplies: counter('gateway_opt_out_replies_total', {
    help: 'STOP and START replies from people.',
    question: 'Do more people than usual want no messages?',
    labels: { change: ['opted_out', 'opted_in'] },
  }),
  disconnects: counter('gateway_disconnects_total', {
    help: 'Closed sockets of linked devices, by how they ended.',
    question: 'Why do devices lose their connection: the path, the network, a ban, another client?',
    labels: { outcome: DISCONNECT_KINDS.map(snakeCase) },
  }),
  logins: counter('gateway_logins_total', {
    help: 'Sockets that were opened for linked devices, and those of them that logged in.',
    question: 'How often do devices log in, and does it work? The network counts logins, too.',
    labels: { outcome: ['begun', 'logged_in'] },
  }),
  contained: counter('gateway_contained_errors_total', {
    help: 'Uncaught errors that were traced to one device; the device was released and the process went on.',
    question: 'Is there a defect that would have ended the process?',
  }),
  restricted: gauge('gateway_restricted_devices', {
    help: 'Devices of this process whose messages to new contacts wait because the network restricts the account.',
    question: 'How many accounts may start no new conversations?',
    labels: { restriction: Object.keys(RESTRICTIONS) },
  }),
  held: counter('gateway_recipients_held_total', {
    help: 'Recipients that began to wait for the end of a restriction or for the phone history; counted once per wait.',
    question: 'How many messages does a restriction hold up?',
  }),
  awaitingKey: counter('gateway_sends_awaiting_key_total', {
    help: 'Sends that wait because this process lacks the encryption key of their content; counted each time one is found.',
    question: 'Was a key taken out of CONTENT_KEYS too early?',
  }),
  owned: gauge('gateway_owned_devices', {
    help: 'Devices that this process owns, by what it does with them.',
    question: 'Which process has how many devices, and are they open?',
    labels: { phase: OWNER_PHASES },
  }),
  mostOwned: gauge('gateway_owned_devices_max', {
    help: 'Devices that this process may own (MAX_DEVICES).',
    question: 'Is there room for the devices of a process that is lost?',
  }),
  activeBytes: gauge('gateway_active_sends_bytes', {
    help: 'Memory that the active sends of this process take, and those that it is about to read, about.',
    question: 'Do lists wait because this process works on many others?',
  }),
  mostActiveBytes: gauge('gateway_active_sends_bytes_max', {
    help: 'Memory for active sends: beyond it a device takes in one list at a time.',
    question: 'Is there room for more lists at a time?',
  }),
  overCapacity: gauge('gateway_devices_over_capacity', {
    help: 'Devices of this process beyond MAX_DEVICES, taken because all senders are full.',
    question: 'Are more senders needed now?',
  }),
} as const;

export type SenderMetrics = ReturnType<typeof createSenderMetrics>;

/** What is read when the metrics are. */
interface SenderFigures {
  maxDevices?: number;
  /** How many recipients are in each place. */
  readPlaces?: () => Partial<PlaceCounts>;
  memory?: Pick<MemoryBudget, 'heldBytes' | 'maxBytes'>;
}
const NO_MEMORY = { heldBytes: 0, maxBytes: 0 };

/** @param readDevices how many devices are in each phase. */
export function createSenderMetrics(
  registry: Registry,
  readDevices: () => Record<string, number>,
  { maxDevices = 0, readPlaces = () => ({}), memory = NO_MEMORY }: SenderFigures = {},
) {
  const metrics = addMetrics(registry, SENDER_METRICS, {
    owned: (owned) => {
      for (const phase of OWNER_PHASES) owned.set({ phase }, 0);
      for (const [phase, count] of Object.entries(readDevices())) owned.set({ phase: snakeCase(phase) }, count);
    },
    active: (active) => {
      const counts = readPlaces();
      for (const place of ACTIVE_PLACES) active.set({ place: snakeCase(place) }, counts[place] ?? 0);
    },
    mostOwned: (most) => most.set(maxDevices),
    activeBytes: (bytes) => bytes.set(memory.heldBytes),
    mostActiveBytes: (most) => most.set(memory.maxBytes),
    overCapacity: (over) => over.set(Math.max(0, sumOf(readDevices()) - maxDevices)),
  });
  return {
    observeClaim: (kind: SendKind, ms: number) => metrics.acceptToClaim.observe({ kind }, seconds(ms)),
    observeAnswer: (kind: SendKind, outcome: AckOutcome['kind'], ms: number) =>
      metrics.claimToAck.observe({ kind, outcome: snakeCase(outcome) }, seconds(ms)),
    observeAck: (kind: SendKind, ms: number) => metrics.acceptToAck.observe({ kind }, seconds(ms)),
    observeDelivery: (kind: SendKind, ms: number) => metrics.ackToDelivery.observe({ kind }, seconds(ms)),
    countPaceWait: (ms: number) => metrics.paceWait.inc(seconds(ms)),
    countUpload: (outcome: 'stored' | 'failed' | 'unreadable') => metrics.uploads.inc({ outcome }),
    countReceipts: (receipt: string, count: number) => metrics.receipts.inc({ receipt }, count),
    countRetry: (outcome: RetryOutcome) => metrics.retryReceipts.inc({ outcome }),
    countFailedLookUp: (networkCode: number) => metrics.failedLookups.inc({ cause: lookupFailureOf(networkCode) }),
    countOptOutReply: (change: 'optedOut' | 'optedIn') => metrics.optOutReplies.inc({ change: snakeCase(change) }),
    countContained: () => metrics.contained.inc(),
    countRestricted: (restriction: RestrictionKind, change: 1 | -1) => metrics.restricted.inc({ restriction }, change),
    countHeld: (recipients: number) => metrics.held.inc(recipients),
    countAwaitingKey: () => metrics.awaitingKey.inc(),
    countLogin: (outcome: 'begun' | 'logged_in') => metrics.logins.inc({ outcome }),
    countDisconnect: (outcome: DisconnectOutcome['kind']) => metrics.disconnects.inc({ outcome: snakeCase(outcome) }),
  };
}

const sumOf = (counts: Record<string, number>) => Object.values(counts).reduce((sum, count) => sum + count, 0);
/** What was accepted by another process may lie ahead of our clock by a little. */
const seconds = (ms: number) => Math.max(0, ms) / 1000;

function lookupFailureOf(code: number): (typeof LOOKUP_FAILURES)[number] {
  if (code === 408 || code === 428) return 'no_answer';
  if (code === 429 || code >= 500) return 'network_busy';
  if (code === 404) return 'no_devices';
  return code === 400 || code === 406 ? 'bad_keys' : 'refused';
}
