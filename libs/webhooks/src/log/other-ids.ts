import { keylessId, parseEventId } from '@gateway/contracts/events/event-id';
import type { ChangeData } from '@gateway/contracts/events/events';
import { parseMessageId, type Workspace } from '@gateway/contracts/ids';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import type { Store } from '@gateway/store/core/store';
import { UnknownKeyError } from '@gateway/store/core/vault';
import { readIdKey } from '@gateway/store/devices/devices';
import type { LoggedEntry } from '@gateway/store/events/read-log';
import { UPDATED } from '@gateway/store/events/reading/change-shapes';
import type { ParkedEvent } from '@gateway/store/webhooks/delivering/parked/parked';
import type { LogTold } from './told.js';

/** Under which ids it may have been put aside: a change has another one when it is told without the key of its device. */
export function idsOf({ event, row, parks }: LogTold): string[] {
  const { messageId, index, status } = (row ?? event.data) as Partial<ChangeData>;
  const of = messageId === undefined ? undefined : parseMessageId(messageId);
  if (!of || index === undefined || status === undefined) return [parks.id];
  return [parks.id, keylessId(of.shortDeviceId, of.tag, { index, status })];
}

/** All that a recipient may have been told, if they are forgotten. */
export function idsOfForgotten(told: LogTold): string[] {
  const { index, to, status } = (told.row ?? told.event.data) as Partial<ChangeData>;
  if (index === undefined || to !== null || status === undefined) return [];
  return idsOf(told).flatMap((id) => RECIPIENT_STATUSES.map((each) => id.slice(0, -status.length) + each));
}

/**
 * Whether it was put aside under an id that the key of its device does not make any more, as that is lost: which change it was cannot be
 * said. @param types that are asked for now: of what is not among them nothing is missing.
 */
export async function isOfLostKey(
  store: Store,
  workspace: Workspace,
  { event, entry, types }: { event: ParkedEvent; entry: LoggedEntry; types: readonly string[] },
): Promise<boolean> {
  const parts = parseEventId(event.id);
  if (parts?.kind !== 'change' || entry.device === undefined) return false;
  if (!types.some((type) => type === UPDATED || type.endsWith(`.${parts.status}`))) return false;
  const key = await readIdKey(store, { workspace, device: entry.device }).catch((thrown: unknown) => {
    if (thrown instanceof UnknownKeyError) return undefined;
    throw thrown;
  });
  return key === undefined || platformIds(key).parse(parts.platformId)?.tag !== entry.tag;
}
