import type { Workspace } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import type { Store } from '../../core/store.js';
import { readSendByTag } from '../read-send.js';
import { findInRecords } from './find-in-records.js';
import type { FoundSend } from './list-sends.js';
import { byShard, type ListedSend, type ListPlace, readListed } from './listed-sends.js';

export interface FoundRecipient extends FoundSend {
  /** Index of the recipient in the send. */
  recipient: number;
}

/** Of one look, so that the caller gets on with other things in between. */
const SENDS_PER_LOOK = 1_000;
const MOST_LOOKS = 10;

/**
 * The sends of a workspace that went to a number, in any of its spellings, the newest first, and where the search goes on; it ends
 * after 20 were found, or 10,000 looked at.
 * @param phone digits.
 */
export async function findRecipient(
  store: Store,
  workspace: Workspace,
  phone: string,
  { before, limit = 20 }: { before?: ListPlace; limit?: number } = {},
): Promise<{ found: FoundRecipient[]; next: ListPlace | undefined }> {
  const found: FoundRecipient[] = [];
  let next = before;
  for (let look = 0; look < MOST_LOOKS; look++) {
    const page = await readListed(store, workspace, { ...(next && { before: next }), limit: SENDS_PER_LOOK });
    const places = await placesOf(store, page.listed, phone);
    for (const [listed, recipient] of places) {
      const send = await readSendByTag(store, listed.address, listed.tag);
      if (send) found.push({ address: listed.address, send, recipient });
      if (found.length === limit) return { found, next: listed.place };
    }
    next = page.upTo;
    if (!next) break;
  }
  return { found, next };
}

/** Of the sends that have this person, in their order: the place of that recipient. */
async function placesOf(store: Store, listed: readonly ListedSend[], phone: string): Promise<[ListedSend, number][]> {
  const places = new Map<ListedSend, number>();
  for (const ofShard of byShard(listed).values()) {
    const records = ofShard.map(({ address, tag }) => sendKeys(store.space, address, tag).record);
    for (const [index, recipient] of await findInRecords(store, records, [phone]))
      places.set(ofShard[index]!, recipient);
  }
  return listed.flatMap((each): [ListedSend, number][] => (places.has(each) ? [[each, places.get(each)!]] : []));
}
