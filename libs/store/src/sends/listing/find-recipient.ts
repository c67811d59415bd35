import type { Workspace } from '@gateway/contracts/ids';
import { spellingsOf } from '@gateway/contracts/people/phone-number';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { packNumber } from '@gateway/contracts/sends/packed-send';
import { bytes, defineScript } from '../../core/scripts/define-script.js';
import type { Store } from '../../core/store.js';
import { readSendByTag } from '../read-send.js';
import type { FoundSend } from './list-sends.js';
import { type ListedSend, type ListPlace, readListed } from './listed-sends.js';

const findStep = defineScript({
  name: 'find-recipient',
  whenFull: 'runs',
  keys: ['...records'],
  args: { '...numbers': bytes },
  reply: (reply) => reply as [looked: number, ...found: number[]],
});

export interface FoundRecipient extends FoundSend {
  /** Index of the recipient in the send. */
  recipient: number;
}

/** Of one look, so that Redis and the caller get on with other things in between. */
const SENDS_PER_CALL = 50;
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
  const numbers = spellingsOf(phone).map(packNumber);
  const found: FoundRecipient[] = [];
  let next = before;
  for (let look = 0; look < MOST_LOOKS; look++) {
    const page = await readListed(store, workspace, { ...(next && { before: next }), limit: SENDS_PER_LOOK });
    const places = await placesOf(store, page.listed, numbers);
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

/** Of the sends that have one of these numbers, in their order: the place of that recipient. */
async function placesOf(
  store: Store,
  listed: readonly ListedSend[],
  numbers: readonly Buffer[],
): Promise<[ListedSend, number][]> {
  const shards = new Map<number, ListedSend[]>();
  for (const each of listed) {
    const { shard } = each.place;
    shards.set(shard, [...(shards.get(shard) ?? []), each]);
  }
  const places = new Map<ListedSend, number>();
  for (const ofShard of shards.values()) {
    for (let from = 0; from < ofShard.length; ) {
      const some = ofShard.slice(from, from + SENDS_PER_CALL);
      const records = some.map(({ address, tag }) => sendKeys(store.space, address, tag).record);
      const [looked, ...pairs] = await findStep(store, { records, numbers });
      for (let i = 0; i < pairs.length; i += 2) places.set(some[pairs[i]!]!, pairs[i + 1]!);
      from += looked;
    }
  }
  return listed.flatMap((each): [ListedSend, number][] => (places.has(each) ? [[each, places.get(each)!]] : []));
}
