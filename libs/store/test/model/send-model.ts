import type { RecipientStatus } from '@gateway/contracts/sends/statuses';
import type { News } from './events.js';

/** From the contract: how long the content of an accepted code, and a finished send, is kept. */
const ERASURE_MS = 10 * 60_000;
export const RETENTION_MS = 7 * 24 * 3_600_000;
const MAX_ATTEMPTS = 255;
const PERSON_FORGOTTEN = 13;
const ACCOUNT_CHANGED = 14;

/** One message of a send to one person. */
interface Part {
  /** It went to the network at some time: only then can the network speak of it. */
  wasHanded: boolean;
  inFlight: boolean;
  /** An earlier attempt was never answered. */
  inDoubt: boolean;
  accepted: boolean;
  delivered: boolean;
  read: boolean;
}

export interface Recipient {
  person: number | 'forgotten';
  status: RecipientStatus;
  parts: readonly Part[];
  attempts: number;
  error: number;
  atMs: number;
}

export interface Send {
  /** `gone`: forgotten after its end. */
  stage: 'open' | 'closed' | 'gone';
  kind: 'text' | 'otp';
  /** Of the device when it was accepted. */
  accountEpoch: number;
  createdAtMs: number;
  expiresAtMs: number;
  hasContent: boolean;
  recipients: readonly Recipient[];
  cancelledAtMs?: number;
  /** When the network accepted a code. */
  sentAtMs?: number;
  closedAtMs?: number;
  /** When its content dies by itself, if it has not gone before. */
  contentDiesAtMs: number;
}

const UNSENT: Part = {
  ...{ wasHanded: false, inFlight: false, inDoubt: false },
  ...{ accepted: false, delivered: false, read: false },
};

export function newSend(
  {
    kind,
    parts,
    people,
    expiresInMs,
  }: { kind: Send['kind']; parts: number; people: readonly number[]; expiresInMs: number },
  { nowMs, accountEpoch }: { nowMs: number; accountEpoch: number },
): Send {
  const recipients = people.map(
    (person): Recipient => ({
      ...{ person, status: 'queued', attempts: 0, error: 0, atMs: nowMs },
      parts: Array.from({ length: parts }, () => UNSENT),
    }),
  );
  return {
    stage: 'open',
    kind,
    accountEpoch,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + expiresInMs,
    hasContent: true,
    contentDiesAtMs: nowMs + expiresInMs + (kind === 'otp' ? ERASURE_MS : RETENTION_MS),
    recipients,
  };
}

/** Whether the person's phone may show any of it, as far as anyone knows. */
function mayBeShown({ parts }: Recipient): boolean {
  return parts.some(({ inFlight, inDoubt, accepted }) => inFlight || inDoubt || accepted);
}

/** The last check before a message goes out. */
export function claim(
  send: Send,
  { recipient, part, nowMs }: { recipient: number; part: number; nowMs: number },
): { send: Send; reply: 'claimed' | 'settled' | 'cancelled' | 'expired' } {
  const found = send.stage === 'gone' ? undefined : send.recipients[recipient];
  if (found?.status !== 'queued' || found.parts[part]!.accepted) return { send, reply: 'settled' };
  if (send.expiresAtMs <= nowMs) return { send, reply: 'expired' };
  if (send.cancelledAtMs !== undefined && !mayBeShown(found)) return { send, reply: 'cancelled' };
  const before = found.parts[part]!;
  const claimed = { ...before, wasHanded: true, inFlight: true, inDoubt: before.inDoubt || before.inFlight };
  const attempts = Math.min(found.attempts + 1, MAX_ATTEMPTS);
  const now = { ...found, attempts, error: 0, atMs: nowMs, parts: found.parts.with(part, claimed) };
  return { send: { ...send, recipients: send.recipients.with(recipient, now) }, reply: 'claimed' };
}

/** The network speaks only of what it was handed; the owner may fail or hold every recipient. */
export function mayBeHeard(send: Send, { recipient, part, event }: News): boolean {
  const isOwners = event === 'failed' || event === 'held';
  return isOwners || send.recipients[recipient] === undefined || send.recipients[recipient].parts[part]!.wasHanded;
}

/** Answers with the status of each after its news. */
export function report(
  send: Send,
  news: readonly News[],
  nowMs: number,
): { send: Send; reply: (RecipientStatus | undefined)[] } {
  if (send.stage === 'gone') return { send, reply: [] };
  let now = send;
  const reply = news.map((each) => {
    const before = now.recipients[each.recipient];
    if (!before) return undefined;
    const after = hear(now, before, each, nowMs);
    const isAccepted = after.status !== before.status && after.status !== 'failed' && after.status !== 'cancelled';
    if (now.kind === 'otp' && isAccepted) now = { ...now, sentAtMs: now.sentAtMs ?? nowMs };
    now = { ...now, recipients: now.recipients.with(each.recipient, after) };
    return after.status;
  });
  return { send: tidyUp(now, nowMs), reply };
}

function hear(send: Send, before: Recipient, { part, event, errorCode }: News, nowMs: number): Recipient {
  const parts = before.parts.with(part, hearOfPart(before.parts[part]!, event));
  const status = nextStatus(send, { ...before, parts }, event);
  if (status !== before.status) {
    return { ...before, parts, status, atMs: nowMs, error: status === 'failed' ? errorCode : 0 };
  }
  return { ...before, parts, error: event === 'held' && status === 'queued' ? errorCode : before.error };
}

function hearOfPart(part: Part, event: News['event']): Part {
  // Neither says what became of the last attempt.
  if (event === 'held' || event === 'revoked') return part;
  const read = part.read || event === 'read';
  const delivered = part.delivered || read || event === 'delivered';
  return { ...part, inFlight: false, read, delivered, accepted: part.accepted || delivered || event === 'acked' };
}

/** Statuses only move forward. A recipient is as far as the slowest part. */
function nextStatus(send: Send, recipient: Recipient, event: News['event']): RecipientStatus {
  const { status, parts } = recipient;
  if (event === 'failed') return status === 'queued' || status === 'sent' ? 'failed' : status;
  if (event === 'revoked') return status === 'sent' ? 'failed' : status;
  if (event === 'returned' || event === 'held') {
    const wasCancelled = status === 'queued' && send.cancelledAtMs !== undefined;
    return wasCancelled && !mayBeShown(recipient) ? 'cancelled' : status;
  }
  if (status === 'failed' || status === 'cancelled') return status;
  if (parts.every(({ read }) => read)) return 'read';
  if (parts.every(({ delivered }) => delivered)) return 'delivered';
  return status === 'queued' && parts.every(({ accepted }) => accepted) ? 'sent' : status;
}

/** Cancels queued recipients whose phones cannot have it. */
export function cancel(send: Send, nowMs: number): { send: Send; reply: number | undefined } {
  if (send.stage === 'gone') return { send, reply: undefined };
  if (send.stage === 'closed') return { send, reply: 0 };
  const marked = { ...send, cancelledAtMs: send.cancelledAtMs ?? nowMs };
  return settle(marked, nowMs, (recipient) =>
    mayBeShown(recipient) ? recipient : { ...recipient, status: 'cancelled', error: 0 },
  );
}

/** Another account was linked: of what phones may have it will never be known whether they show it. */
export function endOfFormerAccount(send: Send, nowMs: number): Send {
  const marked = { ...send, cancelledAtMs: send.cancelledAtMs ?? nowMs };
  return settle(marked, nowMs, (recipient) => leaveQueued(recipient, ACCOUNT_CHANGED)).send;
}

/** The time of an open send is over. */
export function expire(send: Send, nowMs: number): Send {
  return settle(send, nowMs, (recipient) => ({ ...recipient, status: 'expired' })).send;
}

/** A person's number leaves the send: nothing goes out to them any more. */
export function forgetPerson(send: Send, person: number, nowMs: number): { send: Send; reply: number } {
  const isTheirs = (recipient: Recipient) => recipient.person === person;
  const found = send.stage === 'gone' ? 0 : send.recipients.filter(isTheirs).length;
  if (found === 0) return { send, reply: 0 };
  const recipients = send.recipients.map((recipient) =>
    isTheirs(recipient) ? { ...leaveAlone(recipient, nowMs), person: 'forgotten' as const } : recipient,
  );
  const now = tidyUp({ ...send, recipients }, nowMs);
  const isEmpty = recipients.every((recipient) => recipient.person === 'forgotten');
  return { send: { ...now, hasContent: now.hasContent && !isEmpty }, reply: found };
}

function leaveAlone(recipient: Recipient, nowMs: number): Recipient {
  return recipient.status === 'queued' ? { ...leaveQueued(recipient, PERSON_FORGOTTEN), atMs: nowMs } : recipient;
}

/** What a phone may show is never called cancelled. */
function leaveQueued(recipient: Recipient, error: number): Recipient {
  return mayBeShown(recipient)
    ? { ...recipient, status: 'failed', error }
    : { ...recipient, status: 'cancelled', error: 0 };
}

function settle(send: Send, nowMs: number, change: (queued: Recipient) => Recipient): { send: Send; reply: number } {
  const recipients = send.recipients.map((before) => {
    const after = before.status === 'queued' ? change(before) : before;
    return after.status === before.status ? before : { ...after, atMs: nowMs };
  });
  const reply = recipients.filter((recipient, i) => recipient !== send.recipients[i]).length;
  return { send: tidyUp({ ...send, recipients }, nowMs), reply };
}

/** What a change may have brought with it: a code is to be erased, or the send has ended. */
function tidyUp(send: Send, nowMs: number): Send {
  return close(eraseCode(send, nowMs), nowMs);
}

/** The content of a code goes at its end, or ten minutes after the ack. */
function eraseCode(send: Send, nowMs: number): Send {
  const status = send.recipients[0]?.status;
  if (send.kind !== 'otp' || status === 'queued') return send;
  return status === 'sent' ? letContentDie(send, nowMs + ERASURE_MS) : { ...send, hasContent: false };
}

/** Nothing puts it off. */
function letContentDie(send: Send, atMs: number): Send {
  return { ...send, contentDiesAtMs: Math.min(send.contentDiesAtMs, atMs) };
}

/** A send has ended when no recipient is queued. Content that no phone can have is of no more use. */
function close(send: Send, nowMs: number): Send {
  if (send.stage !== 'open' || send.recipients.some(({ status }) => status === 'queued')) return send;
  return {
    ...letContentDie(send, nowMs + RETENTION_MS),
    stage: 'closed',
    closedAtMs: nowMs,
    hasContent: send.hasContent && send.recipients.some(mayBeShown),
  };
}
