import type { Logger } from '@gateway/runtime/logs/logger';
import { UnknownVersionError } from '@gateway/store/core/scripts/unknown-version-error';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { findClosed } from '@gateway/store/sends/open-sends';
import { readSend } from '@gateway/store/sends/read-send';
import type { ActiveSends } from './active-sends.js';
import type { SendProgress } from './send-progress.js';

/** Drops what was cancelled or has expired, as Redis tells. `settle` is due. Rejects when Redis does not answer. */
export async function dropEnded(
  sends: ActiveSends,
  { store, ownership: { address }, logger }: { store: Store; ownership: Ownership; logger: Logger },
): Promise<void> {
  for (const messageId of await findClosed(store, address, sends.ids())) sends.drop(messageId);
  await Promise.all(sends.inTurn().map(look));

  async function look(send: SendProgress): Promise<void> {
    const { messageId } = send;
    try {
      const record = await readSend(store, address, messageId);
      if (!record || record.cancelledAtMs) send.dropCancelled();
    } catch (error) {
      // One that only others can read by now must not keep the rest from being worked on: nothing more of it can be claimed here.
      if (!(error instanceof UnknownVersionError)) throw error;
      logger.error('record of a send cannot be read', { messageId, error });
      sends.drop(messageId);
    }
  }
}
