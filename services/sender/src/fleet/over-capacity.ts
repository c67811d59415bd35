import type { Logger } from '@gateway/runtime/logs/logger';
import { type Member, mostDevices } from '@gateway/store/fleet/members';
import type { Candidate } from './assign-devices.js';

/** How many devices each sender may have: a tenth more than its `MAX_DEVICES` while all of them are full, which is logged. */
export function makeRoom(devices: number, members: readonly Member[], logger: Pick<Logger, 'warn'>): Candidate[] {
  const places = members.reduce((sum, { capacity }) => sum + capacity, 0);
  const isFull = devices > places;
  if (isFull) {
    logger.warn('all senders are full: each takes up to a tenth more devices than MAX_DEVICES', { devices, places });
  }
  return members.map(({ id, capacity }) => ({ id, capacity: isFull ? mostDevices(capacity) : capacity }));
}
