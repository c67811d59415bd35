import type { DeviceAddress, SendTag } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import type { Store } from '../core/store.js';

/** What a step touches that may end a send. */
export const SEND_KEYS = [
  'record',
  'recipients',
  'results',
  'open',
  'backlog',
  'erasures',
  'released',
  'kept',
] as const;
/** The same, and where it stands which account is linked. */
export const SEND_AND_DEVICE = [...SEND_KEYS, 'device'] as const;

/** All of these. */
export function keysOfSend(
  store: Store,
  address: DeviceAddress,
  tag: SendTag,
): Record<(typeof SEND_AND_DEVICE)[number], string> {
  const { openSends, backlog, erasures, releasedBlobs, keptSends, device } = deviceKeys(store.space, address);
  const places = { open: openSends, backlog, erasures, released: releasedBlobs, kept: keptSends, device };
  return { ...sendKeys(store.space, address, tag), ...places };
}
