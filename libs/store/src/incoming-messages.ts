import { readWish } from '@gateway/contracts/opt-outs';
import type { Lease } from './leases.js';
import { addOptOuts, takeBackOptOut } from './opt-outs.js';
import { type ReceivedMessage, recordReceived } from './received-messages.js';
import type { Store } from './store.js';

/**
 * Writes down what somebody wrote: first whether they want messages at all, then the message, for replies to it. The
 * wish counts for the whole workspace and is written by stale owners too: it was said, whoever heard it.
 *
 * Safe to repeat. Answers what has changed. Throws `FencedError` for a stale owner.
 */
export async function recordIncoming(
  store: Store,
  lease: Lease,
  { message, nowMs }: { message: ReceivedMessage & { atMs: number }; nowMs: number },
): Promise<'optedOut' | 'optedIn' | undefined> {
  const { atMs, ...received } = message;
  const change = await recordWish(store, lease, { phone: message.phone, text: message.text, atMs });
  await recordReceived(store, lease, { message: received, nowMs });
  return change;
}

async function recordWish(
  store: Store,
  { address: { workspace } }: Lease,
  { phone, text, atMs }: { phone: string; text: string; atMs: number },
): Promise<'optedOut' | 'optedIn' | undefined> {
  switch (readWish(text)) {
    case 'stop':
      return (await addOptOuts(store, workspace, { numbers: [phone], source: 'reply', atMs })) > 0
        ? 'optedOut'
        : undefined;
    case 'start':
      return (await takeBackOptOut(store, workspace, { number: phone, atMs })) ? 'optedIn' : undefined;
    default:
      return undefined;
  }
}
