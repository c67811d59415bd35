import type { DeviceAddress, SendTag } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys, shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import type { Store } from '../core/store.js';

const KEYS_OF_SHARD = ['due', 'activity', 'totals', 'promised', 'outbox'] as const;
const SHARED_KEYS = ['open', 'backlog', 'released', 'kept', ...KEYS_OF_SHARD] as const;
/** What a step touches that may end a send. */
export const SEND_KEYS = ['record', 'content', ...SHARED_KEYS] as const;
/** What one touches that may end several sends of a device: see each-send.lua. */
export const SENDS_KEYS = [...SHARED_KEYS, '...sends'] as const;
export const SENDS_AND_DEVICE = [...SHARED_KEYS, 'device', '...sends'] as const;
/** The same, and where it stands which account is linked. */
export const SEND_AND_DEVICE = [...SEND_KEYS, 'device'] as const;

type SharedKeys = Record<(typeof SHARED_KEYS)[number] | 'device', string>;

/** All keys of a step on one send. */
export function keysOfSend(
  store: Store,
  address: DeviceAddress,
  tag: SendTag,
): SharedKeys & { record: string; content: string } {
  const { record, content } = sendKeys(store.space, address, tag);
  return { record, content, ...sharedKeys(store, address) };
}

/** All keys of a step on several. */
export function keysOfSends(
  store: Store,
  address: DeviceAddress,
  tags: readonly SendTag[],
): SharedKeys & { sends: string[] } {
  const sends = tags.flatMap((tag) => {
    const { record, content } = sendKeys(store.space, address, tag);
    return [record, content];
  });
  return { sends, ...sharedKeys(store, address) };
}

function sharedKeys(store: Store, address: DeviceAddress): SharedKeys {
  const { openSends, backlog, releasedBlobs, keptSends, device } = deviceKeys(store.space, address);
  const shard = shardKeys(store.space, shardOf(address));
  const { due, totals, promised } = shard;
  const ofShard = {
    due,
    totals,
    promised,
    activity: shard.activity(address.workspace),
    outbox: shard.outbox(address.workspace),
  };
  return { open: openSends, backlog, released: releasedBlobs, kept: keptSends, device, ...ofShard };
}
