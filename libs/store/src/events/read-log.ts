import { compareEntries, type LogPlace } from '@gateway/contracts/events/cursor';
import { type EventEntry, openEntry, READ_ENTRY_VERSIONS, readEntry, weightOf } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { UnknownVersionError } from '../core/scripts/unknown-version-error.js';
import { type Store, writeAlways } from '../core/store.js';

export interface LoggedEntry extends EventEntry {
  /** Of the stream. */
  id: string;
}

/** What a reader missed was in the log once, and is there no more. */
export interface LogGone {
  /** The place from which on all is there. */
  oldest: LogPlace;
}

export interface LogPart {
  /** From a place on, the one that was read in part first. */
  entries: LoggedEntry[];
  /** What they tell of, together: recipients, people. */
  changes: number;
  /** There is nothing behind them now. */
  isLast: boolean;
}

/** An entry may be of ten thousand changes: no further one is taken apart behind so many. */
export const MOST_CHANGES = 10_000;

/**
 * At most `limit` entries, and not many more changes than one may have; `LogGone` when some are missing there. Throws
 * `UnknownVersionError` where the first is of another version, as in an upgrade: passed over, its readers would miss it.
 */
export async function readLog(
  store: Store,
  workspace: Workspace,
  after: LogPlace,
  { limit }: { limit: number },
): Promise<LogPart | LogGone> {
  const { eventLog, eventMarks } = workspaceKeys(store.space, workspace);
  // In this order, as they are in one slot: what went meanwhile is not taken for all that there was.
  const [rows, goneTo] = await Promise.all([
    store.redis.xrangeBuffer(eventLog, `(${after.entry}`, '+', 'COUNT', limit),
    store.redis.hget(eventMarks, 'goneTo'),
  ]);
  if (goneTo !== null && after.entry !== '0-0' && compareEntries(after.entry, goneTo) < 0) {
    return { oldest: { entry: goneTo, offset: 0 } };
  }
  const entries: LoggedEntry[] = [];
  let changes = 0;
  for (const [id, [, value]] of rows) {
    if (changes >= MOST_CHANGES) break;
    if (entries.length > 0 && !isKnown(value!)) break;
    const entry = readKnown(value!);
    for (const part of entry.parts) changes += weightOf(part);
    entries.push({ id: id.toString(), ...entry });
  }
  return { entries, changes, isLast: rows.length < limit && entries.length === rows.length };
}

const isKnown = (bytes: Buffer) => READ_ENTRY_VERSIONS.includes(bytes[0]!);

function readKnown(bytes: Buffer): EventEntry {
  checkVersion(bytes);
  return readEntry(bytes);
}

/** As `openEntry`. Throws `UnknownVersionError`. */
export function openKnown(bytes: Buffer): EventEntry {
  checkVersion(bytes);
  return openEntry(bytes);
}

function checkVersion(bytes: Buffer): void {
  if (!isKnown(bytes)) throw new UnknownVersionError({ version: `${bytes[0]}` });
}

/** In the order of the ids; those that the log has no more are left out. Throws `UnknownVersionError`. */
export async function readEntries(store: Store, workspace: Workspace, ids: readonly string[]): Promise<LoggedEntry[]> {
  const { eventLog } = workspaceKeys(store.space, workspace);
  const found = await Promise.all(ids.map((id) => store.redis.xrangeBuffer(eventLog, id, id)));
  return found.flatMap((rows) => rows.map(([id, [, value]]) => ({ id: id.toString(), ...readKnown(value!) })));
}

/** Behind the newest entry. */
export async function endOfLog(store: Store, workspace: Workspace): Promise<LogPlace> {
  const { eventLog } = workspaceKeys(store.space, workspace);
  const info = (await store.redis.xinfo('STREAM', eventLog).catch(() => [])) as unknown[];
  return { entry: String(info[info.indexOf('last-generated-id') + 1] ?? '0-0'), offset: 0 };
}

/** Someone reads the log who is on no list: it stays open for a week from then on. */
export async function noteReading(store: Store, workspace: Workspace): Promise<void> {
  const { eventMarks } = workspaceKeys(store.space, workspace);
  await writeAlways(store, 'HSET', eventMarks, 'readAtMs', systemClock.nowMs());
}
