import type { DeviceAddress, SendTag } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys, shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import type { Store } from '../core/store.js';

/** What a step touches that may end a send. */
const KEYS_OF_SHARD = ['due', 'activity', 'totals', 'promised', 'outbox'] as const;
export const SEND_KEYS = ['record', 'content', 'open', 'backlog', 'released', 'kept', ...KEYS_OF_SHARD] as const;
/** The same, and where it stands which account is linked. */
export const SEND_AND_DEVICE = [...SEND_KEYS, 'device'] as const;

/** All of these. */
export function keysOfSend(
  store: Store,
  address: DeviceAddress,
  tag: SendTag,
): Record<(typeof SEND_AND_DEVICE)[number], string> {
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
  const places = { open: openSends, backlog, released: releasedBlobs, kept: keptSends, device, ...ofShard };
  return { ...sendKeys(store.space, address, tag), ...places };
}
