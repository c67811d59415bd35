import { compareEntries, entryBefore, entryMs, type LogPlace } from '@gateway/contracts/events/cursor';
import {
  CLOCKS_DIFFER_MS,
  type EntryOutline,
  type EventEntry,
  openEntry,
  outlineOf,
  READ_ENTRY_VERSIONS,
  readEntry,
  startOf,
  weightOf,
} from '@gateway/contracts/events/entry';
import type { DeviceId, Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { defineScript, number } from '../core/scripts/define-script.js';
import { isOne } from '../core/scripts/replies.js';
import { UnknownVersionError } from '../core/scripts/unknown-version-error.js';
import type { Store } from '../core/store.js';
import { erasedRows, type LogRow, withErased } from './forgetting/erased-entries.js';

const noteReadingStep = defineScript({
  name: 'note-reading',
  whenFull: 'runs',
  keys: ['marks'],
  args: { nowMs: number },
  reply: isOne,
});

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
  /** Before the first of them, or before what comes next: never the start, which says nothing of what goes from there. */
  from: string;
}

/** An entry may be of ten thousand changes: no further one is taken apart behind so many. */
export const MOST_CHANGES = 10_000;

/**
 * At most `limit` entries (of those that are not wanted without what they tell), and not many more changes than one may have; `LogGone` when some are missing there. Throws
 * `UnknownVersionError` where the first is of another version, as in an upgrade: passed over, its readers would miss it.
 */
export async function readLog(
  store: Store,
  workspace: Workspace,
  after: LogPlace,
  { limit, isWanted }: { limit: number; isWanted?: (atMs: number) => boolean },
): Promise<LogPart | LogGone> {
  const found = await readRows(store, workspace, { after, limit });
  if ('oldest' in found) return found;
  const { rows, from } = found;
  const entries: LoggedEntry[] = [];
  let changes = 0;
  for (const [id, [, value]] of rows) {
    if (changes >= MOST_CHANGES) break;
    if (entries.length > 0 && !isKnown(value!)) break;
    const entry = isWanted ? readIf(value!, isWanted) : readKnown(value!);
    for (const part of entry.parts) changes += weightOf(part);
    entries.push({ id: id.toString(), ...entry });
  }
  return { entries, changes, from, isLast: rows.length < limit && entries.length === rows.length };
}

function readIf(bytes: Buffer, isWanted: (atMs: number) => boolean): EventEntry {
  checkVersion(bytes);
  const start = startOf(bytes);
  return isWanted(start.atMs) ? readEntry(bytes) : { ...start, parts: [] };
}

export interface OutlinedEntry extends EntryOutline {
  /** Of the stream. */
  id: string;
}

/** The same for those who look for how much there is. */
export async function outlineLog(
  store: Store,
  workspace: Workspace,
  after: LogPlace,
  { limit }: { limit: number },
): Promise<{ entries: OutlinedEntry[]; isLast: boolean } | LogGone> {
  const found = await readRows(store, workspace, { after, limit });
  if ('oldest' in found) return found;
  const { rows } = found;
  const entries: OutlinedEntry[] = [];
  for (const [id, [, value]] of rows) {
    if (entries.length > 0 && !isKnown(value!)) break;
    checkVersion(value!);
    entries.push({ id: id.toString(), ...outlineOf(value!) });
  }
  return { entries, isLast: rows.length < limit && entries.length === rows.length };
}

async function readRows(
  store: Store,
  workspace: Workspace,
  { after, limit }: { after: LogPlace; limit: number },
): Promise<{ rows: LogRow[]; from: string } | LogGone> {
  const { eventLog, eventMarks } = workspaceKeys(store.space, workspace);
  // In this order, as they are in one slot: what went meanwhile is not taken for all that there was.
  const [there, [goneTo = null, erased = null]] = await Promise.all([
    store.redis.xrangeBuffer(eventLog, `(${after.entry}`, '+', 'COUNT', limit),
    store.redis.hmget(eventMarks, 'goneTo', 'erased'),
  ]);
  if (goneTo !== null && isGone(after.entry, goneTo)) return { oldest: { entry: goneTo, offset: 0 } };
  const behind = after.entry === '0-0' && goneTo !== null ? goneTo : after.entry;
  const rows = withErased(there, erased, { after: behind, limit });
  if (after.entry !== '0-0') return { rows, from: after.entry };
  const [first] = rows;
  return { rows, from: first ? entryBefore(first[0].toString()) : (goneTo ?? '0-0') };
}

/** Tells of an entry whether all that came after it is still in the log. */
export async function readKept(store: Store, workspace: Workspace): Promise<(entry: string) => boolean> {
  const goneTo = await store.redis.hget(workspaceKeys(store.space, workspace).eventMarks, 'goneTo');
  return (entry) => goneTo === null || !isGone(entry, goneTo);
}

const isGone = (after: string, goneTo: string) => after !== '0-0' && compareEntries(after, goneTo) < 0;

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
  const { eventMarks } = workspaceKeys(store.space, workspace);
  // In this order, as above.
  const [found, noted] = await Promise.all([readValues(store, workspace, ids), store.redis.hget(eventMarks, 'erased')]);
  const erased = erasedRows(noted);
  return ids.flatMap((id, i) => {
    const value = found[i] ?? erased.get(id)?.[1][1];
    return value ? [{ id, ...readKnown(value) }] : [];
  });
}

/** Those that tell of a device, and of which: nothing else of them is taken apart. Throws `UnknownVersionError`. */
export async function readDevices(
  store: Store,
  workspace: Workspace,
  ids: readonly string[],
): Promise<Map<string, DeviceId>> {
  const found = await readValues(store, workspace, ids);
  return new Map(
    ids.flatMap((id, i) => {
      const { device } = found[i] ? openKnown(found[i]) : {};
      return device === undefined ? [] : [[id, device]];
    }),
  );
}

async function readValues(store: Store, workspace: Workspace, ids: readonly string[]): Promise<(Buffer | undefined)[]> {
  const { eventLog } = workspaceKeys(store.space, workspace);
  const found = await Promise.all(ids.map((id) => store.redis.xrangeBuffer(eventLog, id, id)));
  return found.map(([row]) => row?.[1][1]);
}

/** Behind the newest entry. */
export async function endOfLog(store: Store, workspace: Workspace): Promise<LogPlace> {
  const { eventLog } = workspaceKeys(store.space, workspace);
  const info = (await store.redis.xinfo('STREAM', eventLog).catch(noneIfGone)) as unknown[];
  return { entry: String(info[info.indexOf('last-generated-id') + 1] ?? '0-0'), offset: 0 };
}

/** The clock may have been set back since a place was told. Who goes on there would hear nothing until its time comes, and not know. */
export async function isAheadOfLog(
  store: Store,
  workspace: Workspace,
  { entry }: LogPlace,
  nowMs: number,
): Promise<boolean> {
  if (entryMs(entry) <= nowMs - CLOCKS_DIFFER_MS) return false;
  return compareEntries(entry, (await endOfLog(store, workspace)).entry) > 0;
}

function noneIfGone(thrown: Error): [] {
  if (/no such key/.test(thrown.message)) return [];
  throw thrown;
}

/** Someone reads the log who is on no list: it stays open for a week from then on. `false` when there is none. */
export function noteReading(store: Store, workspace: Workspace): Promise<boolean> {
  const { eventMarks } = workspaceKeys(store.space, workspace);
  return noteReadingStep(store, { marks: eventMarks, nowMs: systemClock.nowMs() });
}
