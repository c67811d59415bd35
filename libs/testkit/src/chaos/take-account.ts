import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import type { Simulator } from '@gateway/simulator/start-simulator';
import type { Store } from '@gateway/store/core/store';
import { readRecipients, readSend } from '@gateway/store/sends/read-send';
import { readDeliveries, type ShownMessage } from '../phones.js';
import { type Account, accountFor, type PromisedMessage } from './account-for.js';
import type { RedisBlow } from './redis/redis-of-run.js';

/** A linked device. */
export interface Line {
  address: { workspace: string; device: string };
  number: string;
  token: string;
}

export interface PromisedSend {
  line: Line;
  messageId: string;
  marker: string;
  /** Recipients whom the fault plan refuses. */
  refused: ReadonlySet<string>;
  /** Recipients who had opted out before. */
  unwilling?: ReadonlySet<string>;
  /** How many were, as its caller was told. */
  cancelled?: number;
  to: readonly string[];
  /** When the promise came, Unix ms. */
  promisedAtMs: number;
}

interface World {
  store: Store;
  simulator: Simulator;
  redis: { readonly blows: readonly RedisBlow[] };
  say(line: string): void;
}

/** Looks for each promised message in Redis and on its phone, and says what is known of those that are lost, unwanted, or came twice. */
export async function takeAccount(
  { store, simulator, redis, say }: World,
  sends: readonly PromisedSend[],
): Promise<Account & { forgotten: number }> {
  const promised: (PromisedMessage & { promisedAtMs: number })[] = [];
  const shown = new Map<string, ShownMessage[]>();
  let [forgotten, goneOn] = [0, 0];
  for (const { line, messageId, marker, refused, unwilling, cancelled, to, promisedAtMs } of sends) {
    const send = await readSend(store, line.address, messageId);
    const rows = send ? await readRecipients(store, line.address, send.tag, { from: 0, limit: to.length }) : [];
    if (!send) forgotten++;
    const left = (cancelled ?? 0) - (send?.counts.cancelled ?? 0);
    if (left > 0) say(`CANCELLED AND GONE ON: ${JSON.stringify({ messageId, cancelled, counts: send?.counts })}`);
    goneOn += Math.max(0, left);
    const known = new Map(rows.map((row) => [row.to, row]));
    for (const recipient of to) {
      const row = known.get(recipient);
      const error = row && recipientErrorName(row.errorCode);
      promised.push({
        ...{ from: line.number, to: recipient, marker, status: row?.status ?? 'forgotten', error, promisedAtMs },
        ...{ attempts: row?.attempts ?? 0, mayFail: refused.has(recipient) },
        ...{ isUnwilling: unwilling?.has(recipient) ?? false, mayBeCancelled: cancelled !== undefined },
      });
    }
  }
  for (const number of new Set(sends.map(({ line }) => line.number))) {
    shown.set(number, await readDeliveries(simulator, number));
  }
  const account = accountFor(promised, shown, ({ promisedAtMs, ...message }, times) => {
    const near = blowsAround(redis.blows, promisedAtMs);
    say(`${times > 0 ? `SHOWN ${times} TIMES` : 'LOST'}: ${JSON.stringify({ ...message, ...near })}`);
  });
  return { ...account, unwanted: account.unwanted + goneOn, forgotten };
}

/** Which blow to Redis came before a promise, and which one after it. */
function blowsAround(blows: readonly RedisBlow[], atMs: number) {
  const tell = (blow?: RedisBlow) =>
    blow && `${blow.what}, from ${blow.fromMs - atMs} to ${blow.untilMs - atMs} ms of the promise`;
  return {
    before: tell(blows.findLast(({ fromMs }) => fromMs <= atMs)),
    after: tell(blows.find(({ fromMs }) => fromMs > atMs)),
  };
}
