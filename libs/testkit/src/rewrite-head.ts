import { type DeviceAddress, type MessageId, parseMessageId } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { HEAD_LAYOUT, type HeadField, offsetsOf } from '@gateway/contracts/sends/send-layout';
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
