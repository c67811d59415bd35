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
}

export interface Account {
  recipients: number;
  shown: number;
  failed: number;
  expired: number;
  /** Promised and shown by no phone, and not failed by the fault plan. One that failed or expired without it counts too. */
  lost: number;
  /** Shown more than once. */
  duplicates: number;
}

/**
 * Compares what was promised with what the phones show, by text and not by id.
 * @param onWrong is called for each message that is lost or was shown more than once.
 */
export function accountFor<Message extends PromisedMessage>(
  promised: readonly Message[],
  shown: ReadonlyMap<string, ShownMessage[]>,
  onWrong: (message: Message, timesShown: number) => void = () => {},
): Account {
  const account: Account = { recipients: promised.length, shown: 0, failed: 0, expired: 0, lost: 0, duplicates: 0 };
  const times = new Map<string, number>();
  for (const [from, messages] of shown) {
    for (const { to, text, shown: count } of messages) {
      const key = `${from} ${to} ${text}`;
      times.set(key, (times.get(key) ?? 0) + count);
    }
  }
  for (const message of promised) {
    const { from, to, marker, status, mayFail } = message;
    const count = times.get(`${from} ${to} ${marker}`) ?? 0;
    if (count > 0) account.shown++;
    else if (status === 'failed') account.failed++;
    else if (status === 'expired') account.expired++;
    const isLost = count === 0 && !(mayFail && status === 'failed');
    if (isLost) account.lost++;
    if (count > 1) account.duplicates++;
    if (isLost || count > 1) onWrong(message, count);
  }
  return account;
}
