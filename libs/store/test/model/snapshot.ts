import { RECIPIENT_STATUSES, type RecipientStatus, type StatusCounts } from '@gateway/contracts/sends/statuses';
import type { CallersKey, Device } from './device-model.js';
import { RETENTION_MS, type Recipient, type Send } from './send-model.js';

/** All that can be seen of a device: of the model, and of the store. Times count from the beginning of the sequence. */
export interface Snapshot {
  ownership: { number: number; ttlMs: number } | undefined;
  account: number | undefined;
  nowMs: number;
  /** Messages that wait. */
  backlog: number;
  /** By send: when it expires. */
  open: Readonly<Record<number, number>>;
  /** Sends that the steward of the shard will look at, at their expiry or before. */
  due: readonly number[];
  sends: readonly (SendView | 'gone')[];
  /** Those that are claimed, or stand for a send. */
  keys: Readonly<Record<number, KeyView>>;
  optedOut: readonly number[];
}

export interface SendView {
  stage: 'open' | 'closed';
  kind: string;
  total: number;
  parts: number;
  counts: StatusCounts;
  createdAtMs: number;
  expiresAtMs: number;
  cancelledAtMs: number | undefined;
  sentAtMs: number | undefined;
  /** When its content is forgotten, while it has any. */
  contentDiesAtMs: number | undefined;
  diesAtMs: number | 'never';
  recipients: readonly RecipientView[];
}

/** Of parts, a bit each. */
export interface RecipientView {
  person: number | 'forgotten';
  status: RecipientStatus;
  attempts: number;
  inFlight: number;
  accepted: number;
  inDoubt: number;
  error: number;
  atMs: number;
}

export interface KeyView {
  isClaimed: boolean;
  /** What it stands for; 24 hours from its first request on. */
  use: { send: number; ttlHours: number } | undefined;
}

export function describeModel(device: Device): Snapshot {
  const timesOf = (time: (send: Send) => number | undefined) =>
    Object.fromEntries(device.sends.flatMap((send, i) => (time(send) === undefined ? [] : [[i, time(send)!]])));
  return {
    ownership:
      device.sessionTtlMs === undefined ? undefined : { number: device.ownerships, ttlMs: device.sessionTtlMs },
    account: device.account,
    nowMs: device.nowMs,
    backlog: device.sends.reduce((sum, send) => sum + (send.stage === 'open' ? messagesOf(send) : 0), 0),
    open: timesOf(({ stage, expiresAtMs }) => (stage === 'open' ? expiresAtMs : undefined)),
    due: device.sends.flatMap(({ stage }, send) => (stage === 'open' ? [send] : [])),
    sends: device.sends.map((send) => (send.stage === 'gone' ? 'gone' : describeSend(send))),
    keys: Object.fromEntries(
      Object.entries(device.keys)
        .filter(([, { isClaimed, use }]) => isClaimed || use)
        .map(([name, { isClaimed, use }]) => [name, { isClaimed, use: use && describeUse(use) }]),
    ),
    optedOut: [...device.optedOut].sort(),
  };
}

function describeUse({ send }: NonNullable<CallersKey['use']>): KeyView['use'] {
  return { send, ttlHours: 24 };
}

/** Of those who are queued. */
function messagesOf({ recipients }: Send): number {
  return recipients.filter(({ status }) => status === 'queued').reduce((sum, { parts }) => sum + parts.length, 0);
}

function describeSend(send: Send): SendView {
  const { kind, createdAtMs, expiresAtMs, cancelledAtMs, sentAtMs, recipients } = send;
  const countOf = (wanted: RecipientStatus) => recipients.filter(({ status }) => status === wanted).length;
  return {
    stage: send.stage as SendView['stage'],
    ...{ kind, createdAtMs, expiresAtMs, cancelledAtMs, sentAtMs },
    contentDiesAtMs: send.hasContent ? send.contentDiesAtMs : undefined,
    diesAtMs: send.closedAtMs === undefined ? 'never' : send.closedAtMs + RETENTION_MS,
    ...{ total: recipients.length, parts: recipients[0]!.parts.length },
    counts: Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, countOf(status)])) as StatusCounts,
    recipients: recipients.map(describeRecipient),
  };
}

function describeRecipient({ person, status, attempts, error, atMs, parts }: Recipient): RecipientView {
  const bits = (isSet: (part: Recipient['parts'][number]) => boolean) =>
    parts.reduce((sum, part, i) => sum + (isSet(part) ? 2 ** i : 0), 0);
  return {
    ...{ person, status, attempts, error, atMs },
    inFlight: bits(({ inFlight }) => inFlight),
    accepted: bits(({ accepted }) => accepted),
    inDoubt: bits(({ inDoubt }) => inDoubt),
  };
}
