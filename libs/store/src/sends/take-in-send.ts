import type { SendTag } from '@gateway/contracts/ids';
import { type RecipientView, unpackHead, unpackPlaces, unpackTexts } from '@gateway/contracts/sends/packed-send';
import { HEAD_BYTES } from '@gateway/contracts/sends/send-layout';
import { toError } from '@gateway/runtime/errors';
import { defineScript, flag, number } from '../core/scripts/define-script.js';
import type { Store } from '../core/store.js';
import type { Ownership } from '../fleet/ownership.js';
import { keysOfSend, SEND_AND_DEVICE } from './keys-of-send.js';
import { openContent, type SendRecord, type StoredContent } from './read-send.js';

const takeInStep = defineScript({
  name: 'take-in-send',
  whenFull: 'runs',
  isFenced: true,
  readsSend: true,
  repliesBytes: true,
  keys: SEND_AND_DEVICE,
  args: { nowMs: number, isRead: flag },
  reply: (reply) => reply as [packed: Buffer, sealed: Buffer | null] | null,
});

/** A send with all that its owner works with. */
export interface TakenSend {
  record: SendRecord;
  recipients: RecipientView[];
  /** `undefined` when it is gone; the error when it cannot be opened. */
  stored: StoredContent | Error | undefined;
}

/**
 * Takes a send in, in one step: its owner needs no wake-up any more. `undefined` when nothing is left to do for it. Safe to
 * repeat. Throws `FencedError` for a stale owner, `UnknownVersionError`.
 */
export async function takeInSend(
  store: Store,
  ownership: Ownership,
  { tag, nowMs }: { tag: SendTag; nowMs: number },
): Promise<TakenSend | undefined> {
  const keys = keysOfSend(store, ownership.address, tag);
  const taken = await takeInStep(store, ownership, { ...keys, nowMs, isRead: true });
  if (!taken) return undefined;
  const [packed, sealed] = taken;
  const record: SendRecord = { tag, ...unpackHead(packed), ...unpackTexts(packed, packed) };
  const recipients = unpackPlaces(packed.subarray(HEAD_BYTES), { from: 0, count: record.total });
  return { record, recipients, stored: sealed ? tryToOpen(store, keys.content, sealed) : undefined };
}

/** The same for a send that is read later: its owner knows of it. */
export async function noteSend(
  store: Store,
  ownership: Ownership,
  { tag, nowMs }: { tag: SendTag; nowMs: number },
): Promise<void> {
  await takeInStep(store, ownership, { ...keysOfSend(store, ownership.address, tag), nowMs, isRead: false });
}

function tryToOpen(store: Store, key: string, sealed: Buffer): StoredContent | Error {
  try {
    return openContent(store, key, sealed);
  } catch (thrown) {
    return toError(thrown);
  }
}
