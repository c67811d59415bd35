import type { DeviceAddress } from '@gateway/contracts/ids';
import { parseMessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import type { Store } from '@gateway/store/core/store';
import { openEvents } from '@gateway/store/events/open-events';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, recordResults } from '@gateway/store/sends/change-send';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { takeDevice } from '@gateway/testkit/ownership';

const AT_ONCE = 500;
const FIRST = 447_700_000_000;

/** A log of so many of the longest lists: each is delivered in parts of 500, but for every third, which is cancelled at once. */
export async function fillLog(store: Store, address: DeviceAddress, lists: number): Promise<void> {
  await openEvents(store, address.workspace);
  const ownership = (await takeDevice(store, address, { owner: 'fills-log', ttlMs: 60_000 }))!;
  const recipients = Array.from({ length: LIMITS.maxRecipients }, (_, i) => String(FIRST + i));
  for (let list = 0; list < lists; list++) {
    const nowMs = Date.now();
    const { messageId } = await acceptSend(store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients },
      ...{ owner: 'test', requestId: 'test', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    if (list % 3 === 0) await cancelSend(store, address, messageId);
    else {
      for (let first = 0; first < recipients.length; first += AT_ONCE) {
        const events = Array.from({ length: AT_ONCE }, (_, i) => {
          return { recipient: first + i, part: 0, event: 'delivered' as const };
        });
        await recordResults(store, ownership, { tag: parseMessageId(messageId)!.tag, nowMs, events });
      }
    }
  }
  for (const outbox of await findFullOutboxes(store, address.workspace)) await relayOutbox(store, outbox);
}
