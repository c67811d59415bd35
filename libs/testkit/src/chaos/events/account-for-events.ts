import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';

/** What there is to be told, as Redis and the phones have it. */
export interface ToBeTold {
  /** By `messageId` and index: whom, and what became of them. */
  recipients: ReadonlyMap<string, { to: string; status: string }>;
  /** Sends with nothing left to do. */
  finished: ReadonlySet<string>;
  /** What people wrote, by the id that their phones gave it. */
  written: ReadonlyMap<string, string>;
}

export interface EventsAccount {
  /** Changes, ends of sends and messages of people that were told, each counted once. */
  told: number;
  /** Never told: how a recipient stands, that a send has ended, what a person wrote, or what an `events.gap` stands for. */
  lost: number;
  /** Told, and not so. */
  invented: number;
  /** A recipient of whom an earlier status was told after a later one. */
  disordered: number;
  /** Told more than once to one who keeps no ids. */
  duplicates: number;
}

export const recipientKey = (messageId: string, index: number) => `${messageId} ${index}`;

const RANKS: readonly string[] = RECIPIENT_STATUSES;

/**
 * Compares what one consumer was told, in its order, with what there was to tell.
 * @param onWrong is called for each finding.
 */
export function accountForEvents(
  { recipients, finished, written }: ToBeTold,
  events: readonly GatewayEvent[],
  onWrong: (finding: string, what: unknown) => void = () => {},
): EventsAccount {
  const account: EventsAccount = { told: 0, lost: 0, invented: 0, disordered: 0, duplicates: 0 };
  const wrong = (finding: Exclude<keyof EventsAccount, 'told'>, what: unknown) => {
    account[finding]++;
    onWrong(finding, what);
  };
  const seen = new Set<string>();
  const isNew = (id: string): boolean => {
    if (seen.has(id)) wrong('duplicates', id);
    else account.told++;
    return !seen.has(id) && seen.add(id) !== undefined;
  };
  const last = new Map<string, string>();
  const hear = (row: ChangeData) => {
    if (!isNew(row.id)) return;
    const key = recipientKey(row.messageId, row.index);
    const stored = recipients.get(key);
    const before = last.get(key);
    if (!stored || stored.to !== row.to || rank(row.status) > rank(stored.status)) wrong('invented', row);
    if (before !== undefined && rank(row.status) <= rank(before)) wrong('disordered', { before, row });
    last.set(key, row.status);
  };
  for (const event of events) {
    for (const row of rowsOf(event)) hear(row);
    if (event.type === 'events.gap') wrong('lost', event);
    if (event.type === 'send.finished' && isNew(event.id) && !finished.has(String(event.data.messageId))) {
      wrong('invented', event);
    }
    if (event.type !== 'message.received' || !isNew(event.id)) continue;
    const { platformMessageId, content } = event.data as { platformMessageId: string; content: { text: string } };
    if (written.get(platformMessageId) !== content.text) wrong('invented', event);
  }
  for (const [key, { status }] of recipients) {
    if (status !== 'queued' && last.get(key) !== status) wrong('lost', { key, status, told: last.get(key) });
  }
  for (const messageId of finished) {
    if (!seen.has(`evt_${messageId}_finished`)) wrong('lost', { finished: messageId });
  }
  const heard = new Set(events.map(({ data }) => data.platformMessageId));
  for (const id of written.keys()) if (!heard.has(id)) wrong('lost', { written: id });
  return account;
}

/** Of one, or of several, recipients. */
function rowsOf({ type, data }: GatewayEvent): ChangeData[] {
  if (type === 'messages.updated') return data.changes as ChangeData[];
  const isRow = /^(message|otp)\./.test(type) && type !== 'message.received';
  return isRow ? [data as unknown as ChangeData] : [];
}

const rank = (status: string) => RANKS.indexOf(status);
