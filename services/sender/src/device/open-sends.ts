import type { DeviceAddress } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { type OpenPlace, pageOpenSends } from '@gateway/store/sends/open-sends';
import { readSend, type SendRecord } from '@gateway/store/sends/read-send';
import type { ActiveSends } from '../scheduling/active-sends.js';

const READ_AT_ONCE = 100;

/** Takes in what is open and not here: sends that were accepted before this owner, or whose job was lost. */
export async function takeInOpenSends(
  sends: ActiveSends,
  { store, ownership, logger }: { store: Store; ownership: Ownership; logger: Logger },
): Promise<void> {
  const { address } = ownership;
  let after: OpenPlace | undefined;
  do {
    const page = await pageOpenSends(store, address, { priority: 'otp', after, limit: READ_AT_ONCE });
    const records = await Promise.all(page.messageIds.filter((messageId) => !sends.has(messageId)).map(readOne));
    for (const record of records) if (record) void sends.takeIn(toJob(address, record));
    after = page.next;
  } while (after !== undefined);
  sends.takeInLists();

  /** One record that cannot be read (of a later version, say) must not keep the others from being worked on. */
  function readOne(messageId: string): Promise<SendRecord | undefined> {
    return readSend(store, address, messageId).catch((thrown: unknown) => {
      logger.error('record of a send cannot be read', { messageId, error: toError(thrown) });
      return undefined;
    });
  }
}

/** What wakes a send up: the same in every service. */
export function toJob(address: DeviceAddress, record: SendRecord): SendJob {
  const { messageId, requestId } = record;
  return { v: 1, ...address, messageId, priority: record.priority, requestId };
}
