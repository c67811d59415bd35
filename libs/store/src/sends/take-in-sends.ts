import type { SendTag } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { type RecipientView, unpackHead, unpackPlaces, unpackTexts } from '@gateway/contracts/sends/packed-send';
import { HEAD_BYTES } from '@gateway/contracts/sends/send-layout';
import { toError } from '@gateway/runtime/errors';
import { defineScript, number } from '../core/scripts/define-script.js';
import { UnknownVersionError } from '../core/scripts/unknown-version-error.js';
import type { Store } from '../core/store.js';
import type { Ownership } from '../fleet/ownership.js';
import { keysOfSends, SENDS_AND_DEVICE } from './keys-of-send.js';
import { openContent, type SendRecord, type StoredContent } from './read-send.js';

const takeInStep = defineScript({
  name: 'take-in-sends',
  whenFull: 'runs',
  isFenced: true,
  repliesBytes: true,
  keys: SENDS_AND_DEVICE,
  args: { nowMs: number, '...reads': number },
  reply: (reply) => reply as ([packed: Buffer, sealed: Buffer | null] | [] | number | Error | null)[],
});

/** A send with all that its owner works with. */
export interface TakenSend {
  record: SendRecord;
  recipients: RecipientView[];
  /** `undefined` when it is gone; the error when it cannot be opened. */
  stored: StoredContent | Error | undefined;
}

/** A send that its owner has heard of. */
export interface HeardSend {
  tag: SendTag;
  /** Whether it is worked on now, or if it is small; else its owner knows of it, and reads it later. */
  reads: 'any' | 'small' | 'none';
}

/** In bytes, as Redis has it: some hundred recipients with a text of a page. What it becomes in memory is a few times that. */
const READS = { any: Number.MAX_SAFE_INTEGER, small: 16 * 1024, none: 0 } as const satisfies Record<
  HeardSend['reads'],
  number
>;

/**
 * Takes sends in, in one step: their owner needs no wake-up for them any more. For each `undefined` when nothing is left to do
 * for it; `large` for one that is larger than what is to be read; and the error of one that cannot be read:
 * `UnknownVersionError` where another version of the gateway has written it. Safe to repeat. Throws `FencedError` for a stale owner.
 */
export async function takeInSends(
  store: Store,
  ownership: Ownership,
  { sends, nowMs }: { sends: readonly HeardSend[]; nowMs: number },
): Promise<(TakenSend | 'large' | Error | undefined)[]> {
  const tags = sends.map(({ tag }) => tag);
  const keys = keysOfSends(store, ownership.address, tags);
  const taken = await takeInStep(store, ownership, { nowMs, reads: sends.map(({ reads }) => READS[reads]), ...keys });
  return taken.map((reply, i) => {
    if (reply === null) return undefined;
    if (reply instanceof Error) return reply;
    if (typeof reply === 'number') return new UnknownVersionError({ step: 'take-in-sends', version: String(reply) });
    if (reply.length === 0) return 'large';
    const { content } = sendKeys(store.space, ownership.address, tags[i]!);
    return orError(() => unpack(store, content, tags[i]!, reply));
  });
}

function unpack(
  store: Store,
  contentKey: string,
  tag: SendTag,
  [packed, sealed]: [packed: Buffer, sealed: Buffer | null],
): TakenSend {
  const record: SendRecord = { tag, ...unpackHead(packed), ...unpackTexts(packed, packed) };
  const recipients = unpackPlaces(packed.subarray(HEAD_BYTES), { from: 0, count: record.total });
  return { record, recipients, stored: sealed ? orError(() => openContent(store, contentKey, sealed)) : undefined };
}

function orError<Result>(read: () => Result): Result | Error {
  try {
    return read();
  } catch (thrown) {
    return toError(thrown);
  }
}
