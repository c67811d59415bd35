import type { DeviceAddress } from '@gateway/contracts/ids';
import { readWish } from '@gateway/contracts/people/opt-outs';
import type { Store } from '../core/store.js';
import { WorkspaceGoneError } from '../core/workspace-gone-error.js';
import { relistDevice } from '../devices/listing/relist-device.js';
import type { Ownership } from '../fleet/ownership.js';
import { joinOptOut, type Person, recordStart, recordStop } from '../workspace/hidden-opt-outs.js';
import { inboundSharesOf } from './inbound-shares.js';
import { type ReceivedMessage, recordReceived } from './received-messages.js';

/** What is only of a pair in the keys the account's phone may have made up. */
type Writer = Person & { isPhoneStored?: true; storedHiddenId?: string };

export type Incoming = ReceivedMessage & Writer & { atMs: number };

/**
 * Stores what a person wrote: first whether they want messages at all, then the message, for replies to it and for those who are told of it. The
 * opt-out counts for the whole workspace and is stored by stale owners, too: the person did write it.
 *
 * Safe to repeat. Answers what has changed. Throws `FencedError` for a stale owner.
 * @param message its sealed words are read before: see `readEdit`.
 */
export async function recordIncoming(
  store: Store,
  ownership: Ownership,
  { message, nowMs }: { message: Incoming & { sealedEdit?: never }; nowMs: number },
): Promise<'optedOut' | 'optedIn' | undefined> {
  const { storedHiddenId, hiddenId = storedHiddenId, isPhoneStored: _, ...rest } = message;
  const received = hiddenId === undefined || hiddenId === rest.jid ? rest : { ...rest, hiddenId };
  const shares = inboundSharesOf(store);
  const change = await recordWish(store, ownership, message);
  const mostBytes = await shares.mostBytesOf(ownership.address, nowMs);
  const { keptBytes } = await recordReceived(store, ownership, { message: received, nowMs, mostBytes });
  // Not waited for: replicas are asked next, and by then the connection may have left the server that has just taken the message.
  shares.note(ownership.address, { bytes: keptBytes, nowMs }).catch(() => {});
  return change;
}

async function recordWish(
  store: Store,
  { address }: Ownership,
  { text, ...writer }: Writer & { text: string; atMs: number },
): Promise<'optedOut' | 'optedIn' | undefined> {
  const { workspace } = address;
  const person = namedOnly(writer);
  switch (readWish(text)) {
    case 'stop':
      return (await recordStopSurely(store, address, person)) ? 'optedOut' : undefined;
    case 'start':
      return (await recordStart(store, workspace, person)) ? 'optedIn' : undefined;
    default:
      await joinOptOut(store, workspace, person);
      return undefined;
  }
}

/** A workspace that lists no device at all has been deleted, or a failover took its list: then this one is put back first. */
async function recordStopSurely(
  store: Store,
  address: DeviceAddress,
  person: Person & { atMs: number },
): Promise<boolean> {
  const record = () => recordStop(store, address.workspace, person);
  try {
    return await record();
  } catch (thrown) {
    if (!(thrown instanceof WorkspaceGoneError)) throw thrown;
    await relistDevice(store, address);
    return record();
  }
}

/** A wish under a hidden identifier counts for each number that leads to it; it is not given to one that may be of another. */
function namedOnly({ phone, hiddenId, isPhoneStored, atMs }: Writer & { atMs: number }): Person & { atMs: number } {
  return isPhoneStored && hiddenId !== undefined ? { hiddenId, atMs } : { phone, hiddenId, atMs };
}
