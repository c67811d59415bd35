import { SEND_KINDS } from '@gateway/contracts/content/message-content';
import type { RecipientStatus } from '@gateway/contracts/sends/statuses';
import type { Store } from '@gateway/store/core/store';
import { readTotals } from '@gateway/store/sends/read-totals';
import type { Account } from './account-for.js';

/**
 * By how much what the metrics count (in Redis) differs from what was promised and from what the phones show, of everything that was ever
 * accepted: recipients, whatever became of them.
 */
export async function compareTotals(store: Store, account: Account): Promise<number> {
  const { kinds, errors } = await readTotals(store);
  const sum = (read: (kind: (typeof kinds)[keyof typeof kinds]) => number) =>
    SEND_KINDS.reduce((total, kind) => total + read(kinds[kind]), 0);
  const now = (...statuses: RecipientStatus[]) =>
    sum((kind) => statuses.reduce((total, status) => total + kind.now[status], 0));
  const { recipients, shown, failed, expired, cancelled } = account;
  const pairs = [
    [sum(({ reached }) => reached.queued), recipients],
    [now('queued'), 0],
    [now('cancelled'), cancelled],
    [now('sent', 'delivered', 'read'), shown],
    [now('failed'), failed],
    [[...errors.values()].reduce((total, count) => total + count, 0), sum(({ reached }) => reached.failed)],
    [now('expired'), expired],
  ] as const;
  return pairs.reduce((total, [counted, wanted]) => total + Math.abs(counted - wanted), 0);
}
