import { type DeviceAddress, type MessageId, parseMessageId } from '@gateway/contracts/ids';
import { sendKeys, shardKeys } from '@gateway/contracts/redis-keys';
import { HEAD_LAYOUT, type HeadField, offsetsOf } from '@gateway/contracts/sends/send-layout';
import { shardOf } from '@gateway/contracts/shards';
import { systemClock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';

const AT = offsetsOf(HEAD_LAYOUT);

/** Writes numbers over those in the head of a send, as no step of ours would. */
export async function rewriteHead(
  store: Store,
  address: DeviceAddress,
  messageId: MessageId,
  fields: Partial<Record<HeadField, number>>,
): Promise<void> {
  const { record } = sendKeys(store.space, address, parseMessageId(messageId)!.tag);
  for (const [field, value] of Object.entries(fields) as [HeadField, number][]) {
    const bytes = Buffer.alloc(HEAD_LAYOUT[field]);
    bytes.writeUIntBE(value, 0, bytes.length);
    await store.redis.setrange(record, AT[field], bytes);
  }
}

/** The time of a send is over now, as if it had come. */
export async function endTime(store: Store, address: DeviceAddress, messageId: MessageId): Promise<void> {
  const nowMs = systemClock.nowMs();
  await rewriteHead(store, address, messageId, { expiresAt: nowMs });
  const entry = `${address.workspace}/${address.device}/${parseMessageId(messageId)!.tag}`;
  await store.redis.zadd(shardKeys(store.space, shardOf(address)).due, nowMs, entry);
}
