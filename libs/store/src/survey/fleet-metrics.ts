import { SEND_KINDS } from '@gateway/contracts/content/message-content';
import { REASONS } from '@gateway/contracts/devices/device-state';
import { FAILURE_NAMES, toFailureName } from '@gateway/contracts/sends/recipient-errors';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import type { Clock } from '@gateway/runtime/clock';
import { addMetrics, counter, gauge, type Registry } from '@gateway/runtime/process/metrics';
import type { SharedSurvey } from './shared-survey.js';
import type { Survey } from './survey-fleet.js';

const FINAL_STATUSES = RECIPIENT_STATUSES.filter((status) => status !== 'queued');
const STATES = [
  { state: 'connected', reasons: ['none', 'awaiting_backlog'] },
  { state: 'connecting', reasons: Object.keys(REASONS) },
  { state: 'disconnected', reasons: Object.keys(REASONS) },
] as const;
const DEVICE_STATES = STATES.flatMap(({ state, reasons }) => reasons.map((reason) => ({ state, reason })));

/** What every process with devices or callers tells of the whole installation. */
export const FLEET_METRICS = {
  accepted: counter('gateway_recipients_accepted_total', {
    help: 'Recipients of accepted sends.',
    question: 'How much is asked of the gateway? The denominator of what it owes.',
    of: 'fleet',
    labels: { kind: SEND_KINDS },
  }),
  reached: counter('gateway_recipients_reached_total', {
    help: 'Recipients that came to this status; who is read also came to sent and delivered.',
    question: 'How many of the accepted were sent, were delivered, failed, expired?',
    of: 'fleet',
    labels: { kind: SEND_KINDS, status: FINAL_STATUSES },
  }),
  recipients: gauge('gateway_recipients', {
    help: 'All recipients that were ever accepted, by their status now. Together they are the accepted ones.',
    question: 'Is anyone unaccounted for, and how many are queued?',
    of: 'fleet',
    labels: { kind: SEND_KINDS, status: RECIPIENT_STATUSES },
  }),
  failed: counter('gateway_recipients_failed_total', {
    help: 'Recipients that failed, by error; `network_other` is every code of the network that has no name here.',
    question: 'Why do recipients fail?',
    of: 'fleet',
    labels: { error: FAILURE_NAMES },
  }),
  backlog: gauge('gateway_backlog_messages', {
    help: 'Messages that are queued in open sends.',
    question: 'How much is still to be sent?',
    of: 'fleet',
  }),
  openSends: gauge('gateway_open_sends', {
    help: 'Sends with recipients that are queued.',
    question: 'How many sends, and not messages, are still open?',
    of: 'fleet',
  }),
  overdue: gauge('gateway_overdue_sends', {
    help: 'Open sends whose promised finish has passed.',
    question: 'How many sends are later than their callers were told?',
    of: 'fleet',
  }),
  overdueAge: gauge('gateway_overdue_age_seconds', {
    help: 'How long ago the finish of the most overdue open send was promised; 0 if none is overdue.',
    question: 'How late is the latest? A long list at its pace is not late.',
    of: 'fleet',
  }),
  devices: gauge('gateway_devices', {
    help: 'Devices of the installation, by status and reason as in `/status`.',
    question: 'How many devices can send, and why can the others not?',
    of: 'fleet',
    labels: { state: STATES.map(({ state }) => state), reason: ['none', ...Object.keys(REASONS)] },
    combinations: DEVICE_STATES,
  }),
  senders: gauge('gateway_senders', {
    help: 'Senders that live.',
    question: 'Does anything send at all?',
    of: 'fleet',
  }),
  held: gauge('gateway_fleet_held_devices', {
    help: 'Devices that living senders hold.',
    question: 'How much of the capacity is used?',
    of: 'fleet',
  }),
  capacity: gauge('gateway_fleet_capacity_devices', {
    help: 'Devices that living senders may hold, the sum of their MAX_DEVICES.',
    question: 'Would the others have room if one sender were lost?',
    of: 'fleet',
  }),
  surveyAge: gauge('gateway_fleet_survey_age_seconds', {
    help: 'Age of the numbers of the installation in this scrape: ten seconds and little more while Redis is there.',
    question: 'Are the numbers of the installation those of now?',
    of: 'fleet',
  }),
} as const;

/**
 * Shows the last survey at each scrape, and nothing before the first one: totals that began with 0 in a process that starts would
 * seem to have risen by all that was ever sent.
 */
export function showFleet(registry: Registry, shared: Pick<SharedSurvey, 'read'>, clock: Pick<Clock, 'nowMs'>): void {
  const whenKnown =
    <M extends { reset(): void }>(show: (metric: M, survey: Survey) => void) =>
    async (metric: M) => {
      const survey = await shared.read();
      metric.reset();
      if (survey) show(metric, survey);
    };
  const number = (read: (survey: Survey) => number) => async (metric: { set(value: number): void; remove(): void }) => {
    const survey = await shared.read();
    if (survey) metric.set(read(survey));
    else metric.remove();
  };
  addMetrics(registry, FLEET_METRICS, {
    accepted: whenKnown((accepted, { totals }) => {
      for (const kind of SEND_KINDS) accepted.inc({ kind }, totals[kind].reached.queued);
    }),
    reached: whenKnown((reached, { totals }) => {
      for (const kind of SEND_KINDS)
        for (const status of FINAL_STATUSES) reached.inc({ kind, status }, totals[kind].reached[status]);
    }),
    recipients: whenKnown((recipients, { totals }) => {
      for (const kind of SEND_KINDS)
        for (const status of RECIPIENT_STATUSES) recipients.set({ kind, status }, totals[kind].now[status]);
    }),
    failed: whenKnown((failed, survey) => {
      for (const error of FAILURE_NAMES) failed.inc({ error }, 0);
      for (const [error, count] of Object.entries(survey.failed)) failed.inc({ error: toFailureName(error) }, count);
    }),
    backlog: number(({ backlogMessages }) => backlogMessages),
    openSends: number(({ openSends }) => openSends),
    overdue: number(({ overdueSends }) => overdueSends),
    overdueAge: number(({ overdueSinceMs }) =>
      overdueSinceMs === undefined ? 0 : Math.max(0, clock.nowMs() - overdueSinceMs) / 1000,
    ),
    devices: whenKnown((devices, survey) => {
      for (const each of DEVICE_STATES) devices.set(each, 0);
      for (const { state, reason, count } of survey.devices) devices.set({ state, reason }, count);
    }),
    senders: number(({ senders }) => senders),
    held: number(({ heldDevices }) => heldDevices),
    capacity: number(({ capacityDevices }) => capacityDevices),
    // Of a time to come are those of a clock that was ahead: not of now either.
    surveyAge: number(({ atMs }) => Math.abs(clock.nowMs() - atMs) / 1000),
  });
}
