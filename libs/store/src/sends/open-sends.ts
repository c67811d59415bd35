import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import type { Priority } from '@gateway/contracts/jobs';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { openScores } from '@gateway/contracts/sends/open-order';
import type { Store } from '../core/store.js';

/** Ids of all sends with work left: one-time passwords first, then in the order in which they were accepted. */
export async function listOpenSends(store: Store, address: DeviceAddress): Promise<MessageId[]> {
  return store.redis.zrange(deviceKeys(store.space, address).openSends, '0', '-1');
}

/** Where a page of open sends ends. */
export type OpenPlace = string;

export interface OpenPage {
  /** In the order in which they were accepted. */
  messageIds: MessageId[];
  /** Where the next page begins; `undefined`: this is the last one for now. */
  next: OpenPlace | undefined;
}

/** The sends of this priority with work left, page by page. Sends that come meanwhile are on the last page, or behind it. */
export async function pageOpenSends(
  store: Store,
  address: DeviceAddress,
  { priority, after, limit }: { priority: Priority; after?: OpenPlace | undefined; limit: number },
): Promise<OpenPage> {
  const { openSends } = deviceKeys(store.space, address);
  const { min, max } = openScores(priority);
  const from = after === undefined ? min : `(${after}`;
  const flat = await store.redis.zrangebyscore(openSends, from, `(${max}`, 'WITHSCORES', 'LIMIT', 0, limit);
  const messageIds = flat.filter((_, i) => i % 2 === 0);
  return { messageIds, next: messageIds.length === limit ? flat.at(-1) : undefined };
}

/** Which of these have no work left. */
export async function findClosed(
  store: Store,
  address: DeviceAddress,
  messageIds: readonly MessageId[],
): Promise<MessageId[]> {
  if (messageIds.length === 0) return [];
  const scores = await store.redis.zmscore(deviceKeys(store.space, address).openSends, ...messageIds);
  return messageIds.filter((_, i) => scores[i] === null);
}
