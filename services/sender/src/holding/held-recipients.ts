import { type MessageId, parseMessageId } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import type { RecipientView } from '@gateway/contracts/sends/packed-send';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { findInRecords } from '@gateway/store/sends/listing/find-in-records';
import { readRecipients } from '@gateway/store/sends/read-send';

interface Deps {
  store: Store;
  ownership: Ownership;
}

const PAGE = 500;
const HELD = [ownErrorCode('new_contacts_held'), ownErrorCode('awaiting_history')];

/** Which of these sends wait, until a restriction ends or a history comes, with a message to one of these people. */
export async function findHolding(
  { store, ownership: { address } }: Deps,
  messageIds: readonly MessageId[],
  phones: readonly string[],
): Promise<Set<MessageId>> {
  const records = messageIds.map((messageId) => sendKeys(store.space, address, tagOf(messageId)).record);
  const holding = new Set<MessageId>();
  for (const [index, recipient] of await findInRecords(store, records, phones)) {
    const messageId = messageIds[index]!;
    const [found] = await readRecipients(store, address, tagOf(messageId), { from: recipient, limit: 1 });
    if (found && isHeld(found)) holding.add(messageId);
  }
  return holding;
}

/** The first number, as given, that one of these sends waits with and that is wanted. */
export async function findHeldNumber(
  { store, ownership: { address } }: Deps,
  messageIds: readonly MessageId[],
  isWanted: (number: string) => boolean,
): Promise<string | undefined> {
  for (const messageId of messageIds) {
    for (let from = 0; ; from += PAGE) {
      const page = await readRecipients(store, address, tagOf(messageId), { from, limit: PAGE });
      const found = page.find((recipient) => isHeld(recipient) && isWanted(recipient.to));
      if (found) return found.to;
      if (page.length < PAGE) break;
    }
  }
  return undefined;
}

function isHeld({ status, errorCode }: RecipientView): boolean {
  return status === 'queued' && HELD.includes(errorCode);
}

function tagOf(messageId: MessageId): string {
  return parseMessageId(messageId)!.tag;
}
