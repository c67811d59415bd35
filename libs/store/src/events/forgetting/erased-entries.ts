import { compareEntries, entryMs } from '@gateway/contracts/events/cursor';
import { EVENT_ENTRY_VERSION, PARTS } from '@gateway/contracts/events/entry';

/** Of the log, as Redis has it. */
export type LogRow = [id: Buffer, fields: Buffer[]];

/** @param erased of the marks (replace-event.lua). */
export function erasedRows(erased: string | null): Map<string, LogRow> {
  const notes = erased?.split(' ').map((note) => note.split('/') as [string, string]) ?? [];
  return new Map(notes.map(([id, what]) => [id, [Buffer.from(id), [Buffer.from('e'), withoutPeople(id, what)]]]));
}

/** Up to `limit` rows of the log behind an entry, with those that were taken out between them. */
export function withErased(
  rows: LogRow[],
  erased: string | null,
  { after, limit }: { after: string; limit: number },
): LogRow[] {
  if (erased === null) return rows;
  const last = rows.length < limit ? undefined : rows.at(-1)![0].toString();
  const found = erasedRows(erased);
  for (const id of found.keys()) {
    if (compareEntries(id, after) <= 0 || (last && compareEntries(id, last) > 0)) found.delete(id);
  }
  // One that was taken out while this was read is as it was.
  for (const row of rows) found.set(row[0].toString(), row);
  const ids = [...found.keys()].sort(compareEntries);
  return ids.slice(0, limit).map((id) => found.get(id)!);
}

/** An entry of opt-outs in which no one is left. */
function withoutPeople(id: string, what: string): Buffer {
  const entry = Buffer.alloc(13);
  entry.writeUInt8(EVENT_ENTRY_VERSION, 0);
  entry.writeUIntBE(entryMs(id), 1, 6);
  entry.writeUInt8(PARTS.optOuts, 8);
  entry.writeUInt8(what === 'added' ? 1 : 0, 9);
  return entry;
}
