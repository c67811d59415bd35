import { EVENT_ENTRY_VERSION, PARTS } from '@gateway/contracts/events/entry';
import { systemClock } from '@gateway/runtime/clock';

/** That so many changes are missing. */
export function gapEntry(missing: number): Buffer {
  const entry = Buffer.alloc(13);
  entry.writeUInt8(EVENT_ENTRY_VERSION, 0);
  entry.writeUIntBE(systemClock.nowMs(), 1, 6);
  entry.writeUInt8(PARTS.gap, 8);
  entry.writeUInt32BE(missing, 9);
  return entry;
}
