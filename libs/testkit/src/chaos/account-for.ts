import type { RecipientView } from '@gateway/contracts/sends/packed-send';
import type { ShownMessage } from '../phones.js';

/** One promised message: to whom, and how to tell it from every other by what the phone shows. */
export interface PromisedMessage {
  /** Number of the account that sends. */
  from: string;
  to: string;
  /** The text, which no other send has. */
  marker: string;
  /** `forgotten`: Redis has no record of the send any more. */
  status: RecipientView['status'] | 'forgotten';
  /** The public name of why it is not out. */
  error: string | undefined;
  /** How often it was claimed. */
  attempts: number;
  /** The fault plan refuses it: it may fail. */
  mayFail: boolean;
  /** Its recipient had opted out before it was promised. */
  isUnwilling?: boolean;
  /** Its list was cancelled. */
  mayBeCancelled?: boolean;
}

export interface Account {
  recipients: number;
  shown: number;
  failed: number;
  expired: number;
  cancelled: number;
  /** To people who had opted out before: they count as failed. */
  unwilling: number;
  /** Shown to such a person, or although it counts as cancelled; or cancelled as a caller was told, and not any more. */
  unwanted: number;
  /** Promised and shown by no phone, and not failed by the fault plan, cancelled or unwilling. One that failed or expired without these counts too. */
  lost: number;
  /** Shown more than once. */
  duplicates: number;
}

export const NO_ACCOUNT: Account = {
  ...{ recipients: 0, shown: 0, failed: 0, expired: 0, cancelled: 0 },
  ...{ unwilling: 0, unwanted: 0, lost: 0, duplicates: 0 },
};

/**
 * Compares what was promised with what the phones show, by text and not by id.
 * @param onWrong is called for each message that is lost or unwanted, or was shown more than once.
 */
export function accountFor<Message extends PromisedMessage>(
  promised: readonly Message[],
  shown: ReadonlyMap<string, ShownMessage[]>,
  onWrong: (message: Message, timesShown: number) => void = () => {},
): Account {
  const account: Account = { ...NO_ACCOUNT, recipients: promised.length };
  const times = new Map<string, number>();
  for (const [from, messages] of shown) {
    for (const { to, text, shown: count } of messages) {
      const key = `${from} ${to} ${text}`;
      times.set(key, (times.get(key) ?? 0) + count);
    }
  }
  for (const message of promised) {
    const { from, to, marker, status, error, mayFail, isUnwilling = false, mayBeCancelled = false } = message;
    const count = times.get(`${from} ${to} ${marker}`) ?? 0;
    if (count > 0) account.shown++;
    else if (status === 'failed') account.failed++;
    else if (status === 'expired') account.expired++;
    else if (status === 'cancelled') account.cancelled++;
    if (isUnwilling) account.unwilling++;
    const isRefused = status === 'failed' && (mayFail || (isUnwilling && error === 'recipient_opted_out'));
    const isLost = count === 0 && !isRefused && !(mayBeCancelled && status === 'cancelled');
    const isUnwanted = count > 0 && (isUnwilling || status === 'cancelled');
    if (isLost) account.lost++;
    if (isUnwanted) account.unwanted++;
    if (count > 1) account.duplicates++;
    if (isLost || isUnwanted || count > 1) onWrong(message, count);
  }
  return account;
}
