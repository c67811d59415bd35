import { compareEntries, comparePlaces, type LogPlace, parseCursor, sayCursor } from '@gateway/contracts/events/cursor';
import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import type { Workspace } from '@gateway/contracts/ids';
import { hideParts } from '@gateway/contracts/webhooks/hide-parts';
import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import { digest } from '@gateway/store/core/vault';
import { type LoggedEntry, readEntries, readLog } from '@gateway/store/events/read-log';
import { type EntryEvent, entryReader, updateOf } from '@gateway/store/events/render-events';
import type { TellLane } from '@gateway/store/webhooks/delivering/lanes';
import type { ParkedEvent } from '@gateway/store/webhooks/delivering/parked';
import { readParkingKey } from '@gateway/store/webhooks/delivering/parking-key';
import type { Webhook } from '@gateway/store/webhooks/webhooks';
import type { Feed, Told } from './feed.js';

/** One event, or all that came before it and is for others. */
interface Step {
  /** Where a lane is that has been told this. */
  place: LogPlace;
  /** Of the log: its last one. */
  entry: string;
  /** How many of the log it is the first to tell of. */
  entries: number;
  /** Of its first one. */
  atMs: number;
  event?: GatewayEvent;
  /** Of its changes, if they are told together only: see `EntryEvent.rowEnds`. */
  rows?: { behind: string; ends: readonly number[] };
}

interface LogTold extends Told {
  event: GatewayEvent;
  /** Of `messages.updated`: this one change. */
  row?: ChangeData;
}

const ENTRIES_AT_ONCE = 100;
/** Looked at for one request. */
const MOST_ENTRIES = 2_000;
/** How many entries that are for others, or how old the first of them, until it is written down that they were seen. */
const UNWRITTEN = { entries: 100, ms: 5_000 };
const UPDATED = 'messages.updated';
const GAP = 'events.gap';
/** A change of a list that is an event of its own. */
const TOLD_ALONE = /^message\.(?!received)/;

/** The log of a workspace, cut into requests. Changes of lists are gathered over time, all else is a request of its own. */
export function logFeed(
  store: Store,
  workspace: Workspace,
  { clock, onGap }: { clock: Clock; onGap: () => void },
): Feed<LogTold> {
  /** Of what is told, once something is. */
  let parkingKey: Buffer | undefined;
  const keys = new WeakMap<LogTold, string>();
  let latest: Found | undefined;
  const gathered = new Map<string, Gathered>();
  return {
    async findEnd(webhook, lane, { after, ...limits }) {
      const found = await findRequest(
        { store, workspace, clock, gathered },
        { webhook, lane, after: parseCursor(after)!, ...limits },
      );
      if (found === 'later') return found;
      const [first] = found;
      if (!first) return undefined;
      if (first.event?.type === GAP && first.event.data.missing === null) onGap();
      const to = sayCursor(found.at(-1)!.place);
      latest = { webhook, lane, after, to, steps: found };
      return { to };
    },
    async read(webhook, lane, { after, to }) {
      parkingKey ??= await readParkingKey(store, workspace, webhook.id);
      const isLatest =
        latest?.webhook === webhook && latest.lane === lane && latest.after === after && latest.to === to;
      if (isLatest) return latest!.steps.flatMap(toldIn);
      const end = parseCursor(to)!;
      const told: LogTold[] = [];
      for await (const step of stepsAfter(store, workspace, { webhook, lane, after: parseCursor(after)! })) {
        if (comparePlaces(step.place, end) <= 0) told.push(...toldIn(step));
        else told.push(...toldIn(step).filter((_, i) => endsBy(step, i, end)));
        if (comparePlaces(step.place, end) >= 0) break;
      }
      return told;
    },
    async readAgain(webhook, events) {
      const { types, devices } = webhook.settings;
      parkingKey ??= await readParkingKey(store, workspace, webhook.id);
      const ids = [...new Set(events.map(({ entry }) => entry))].sort(compareEntries);
      const entries = await readEntries(store, workspace, ids);
      const eachOf = entryReader(store, workspace, { types, ...(devices && { devices }) });
      const found = new Map<string, LogTold>();
      for (const entry of entries) {
        for await (const { event } of eachOf(entry, 0)) {
          for (const told of toldIn({ entry: entry.id, event })) found.set(nameOf(told.parks), told);
        }
      }
      const kept = new Set(entries.map(({ id }) => id));
      return events.map((event) => (kept.has(event.entry) ? found.get(nameOf(event)) : 'gone'));
    },
    keyOf(lane, told) {
      const known = keys.get(told);
      if (known !== undefined) return known;
      const parts = [workspace, lane, told.event.device ?? '', whoIn(told)];
      const key = digest(parkingKey!, parts).toString('base64url').slice(0, KEY_CHARACTERS);
      keys.set(told, key);
      return key;
    },
    pack({ settings }, told) {
      const [first] = told as [LogTold];
      const rows = told.flatMap(({ row }) => row ?? []);
      const isOfOne = rows.every(({ device }) => device === first.event.device);
      const device = isOfOne ? (first.event.device ?? undefined) : undefined;
      const entry = {
        atMs: Date.parse(first.row?.at ?? first.event.timestamp),
        ...(device !== undefined && { device }),
      };
      const event = first.row ? updateOf(entry, rows) : first.event;
      return { id: event.id, body: Buffer.from(JSON.stringify(hideParts(event, settings))), atMs: entry.atMs };
    },
    packLost({ id }, { lost, atMs }) {
      const event: GatewayEvent = {
        ...{ id: `evt_${id}_parked_${atMs}_gap`, type: GAP, version: 1 },
        ...{ timestamp: new Date(atMs).toISOString(), device: null, data: { missing: lost } },
      };
      return { id: event.id, body: Buffer.from(JSON.stringify(event)), atMs };
    },
  };
}

/** 72 bits: two people who have the same would only wait for each other. */
const KEY_CHARACTERS = 12;

function toldIn({ entry, event }: Pick<Step, 'entry' | 'event'>): LogTold[] {
  if (!event) return [];
  const { type, device } = event;
  if (type !== UPDATED) return [{ event, parks: { entry, id: event.id, type } }];
  return rowsOf({ event }).map((row) => ({
    ...{ event, row },
    parks: { entry, id: row.id, type, ...(device !== null && { device }) },
  }));
}

const nameOf = ({ type, id }: ParkedEvent) => `${type} ${id}`;

/** Of whom an event tells, or of what: of that the order holds. */
function whoIn({ event: { id, type, data }, row }: LogTold): string {
  if (row) return row.to ?? `${row.messageId}/${row.index}`;
  const { to, from, messageId, index, platformMessageId, webhookId } = data as Record<string, unknown>;
  if (type === 'message.received') return String(from ?? platformMessageId);
  if (index !== undefined) return String(to ?? `${messageId}/${index}`);
  if (messageId !== undefined) return String(messageId);
  if (webhookId !== undefined) return String(webhookId);
  return type === 'events.gap' ? id : type.split('.')[0]!;
}

interface Place {
  webhook: Webhook;
  lane: TellLane;
  after: LogPlace;
}

/** What was found last: it is read again at once. */
interface Found {
  webhook: Webhook;
  lane: TellLane;
  after: string;
  to: string;
  steps: readonly Step[];
}

interface Reading {
  store: Store;
  workspace: Workspace;
  clock: Clock;
  /** By webhook. */
  gathered: Map<string, Gathered>;
}

/** What waits in the log behind a place of a lane of lists, up to an entry: it is counted once. */
interface Gathered {
  after: LogPlace;
  upTo: string;
  changes: number;
  /** Of the first entry that tells of a list. */
  atMs?: number;
}

/** The first steps: updates with so many changes together, or `alone` other events. `later`: not yet. */
async function findRequest(
  { store, workspace, clock, gathered }: Reading,
  { most, alone = 1, ...place }: Place & { most: number; alone?: number },
): Promise<readonly Step[] | 'later'> {
  const { webhook, lane } = place;
  if (lane === 'lists' && (await isGathering({ store, workspace, clock, gathered }, { ...place, most })))
    return 'later';
  const request: Step[] = [];
  let first: Step | undefined;
  let rows = 0;
  let seen = 0;
  let events = 0;
  for await (const step of stepsAfter(store, workspace, place)) {
    const { event } = step;
    rows += rowsOf(step).length;
    if (event && first && ((event.type === UPDATED) !== (first.event!.type === UPDATED) || rows > most)) return request;
    if (event) first ??= step;
    request.push(step);
    seen += step.entries;
    // Nothing can be told with it.
    if (event && event.type !== UPDATED && ++events === alone) return request;
    if (rows === most || seen >= MOST_ENTRIES) return request;
  }
  if (!first) {
    if (request.length === 0) return [];
    const isOld = clock.nowMs() >= request[0]!.atMs + UNWRITTEN.ms;
    return isOld || seen >= UNWRITTEN.entries ? request : 'later';
  }
  const isWaiting =
    lane === 'lists' && events === 0 && clock.nowMs() < first.atMs + webhook.settings.gatherSeconds * 1000;
  return isWaiting ? 'later' : request;
}

/** Whether there is nothing to tell yet, without making events of it: what is gathered is looked at again and again. */
async function isGathering(
  { store, workspace, clock, gathered }: Reading,
  { webhook: { id, settings }, after, most }: Place & { most: number },
): Promise<boolean> {
  if (settings.types.some((type) => TOLD_ALONE.test(type))) return false;
  const known = gathered.get(id);
  const isKnown = known !== undefined && comparePlaces(known.after, after) === 0;
  const counted: Gathered = isKnown ? known : { after, upTo: after.entry, changes: 0 };
  gathered.delete(id);
  const found = await readLog(store, workspace, { entry: counted.upTo, offset: 0 }, { limit: most });
  if ('oldest' in found || !found.isLast) return false;
  for (const entry of found.entries) {
    counted.upTo = entry.id;
    if (entry.class !== 'lists') continue;
    counted.atMs ??= entry.atMs;
    for (const part of entry.parts) {
      if (part.kind !== 'changes') return false;
      counted.changes += part.changes.length;
    }
  }
  const { atMs, changes } = counted;
  if (atMs === undefined || clock.nowMs() >= atMs + settings.gatherSeconds * 1000 || changes >= most) return false;
  gathered.set(id, counted);
  return true;
}

/** What is in the log behind a place: each event that is for the lane, and what is not for it. */
async function* stepsAfter(store: Store, workspace: Workspace, { webhook, lane, after }: Place): AsyncGenerator<Step> {
  const { types, devices } = webhook.settings;
  const eachOf = entryReader(store, workspace, { types, ...(devices && { devices }), leavesOutPassed: true });
  let former = after.entry;
  for (;;) {
    const found = await readLog(store, workspace, { entry: former, offset: 0 }, { limit: ENTRIES_AT_ONCE });
    if ('oldest' in found) {
      yield gapBefore(webhook, lane, found.oldest);
      former = found.oldest.entry;
      continue;
    }
    let others: Step | undefined;
    for (const entry of found.entries) {
      const { id, atMs } = entry;
      const taken = former === after.entry ? after.offset : 0;
      let held: EntryEvent | undefined;
      if ((lane === 'replay' || entry.class === lane) && !tellsOf(entry, webhook)) {
        for await (const event of eachOf(entry, taken)) {
          if (event.end <= taken) continue;
          if (others) yield others;
          others = undefined;
          if (held)
            yield { ...stepOf(held, former), place: { entry: former, offset: held.end }, entry: id, entries: 0, atMs };
          held = event;
        }
      }
      if (held) yield { ...stepOf(held, former), place: { entry: id, offset: 0 }, entry: id, entries: 1, atMs };
      else {
        const place = { entry: id, offset: 0 };
        others = { place, entry: id, entries: (others?.entries ?? 0) + 1, atMs: others?.atMs ?? atMs };
      }
      former = id;
    }
    if (others) yield others;
    if (found.isLast) return;
  }
}

const stepOf = ({ event, rowEnds }: EntryEvent, behind: string): Pick<Step, 'event' | 'rows'> => ({
  event,
  ...(rowEnds && { rows: { behind, ends: rowEnds } }),
});

/** What was claimed before other types were asked for may end within what is told together now. */
function endsBy({ rows }: Step, row: number, end: LogPlace): boolean {
  return rows !== undefined && comparePlaces({ entry: rows.behind, offset: rows.ends[row]! }, end) <= 0;
}

/** The log does not go back to where the lane is. */
function gapBefore({ id, settings }: Webhook, lane: TellLane, place: LogPlace): Step {
  const atMs = Number(place.entry.split('-')[0]);
  if (!settings.types.includes('events.gap')) return { place, entry: place.entry, entries: 0, atMs };
  const event: GatewayEvent = {
    ...{ id: `evt_${id}_${lane}_${place.entry}_gap`, type: GAP, version: 1 },
    ...{ timestamp: new Date(atMs).toISOString(), device: null, data: { missing: null } },
  };
  return { place, entry: place.entry, entries: 0, atMs, event };
}

/** No endpoint hears of itself: it would be told that it fails when it is over. */
function tellsOf({ parts }: LoggedEntry, { id }: Webhook): boolean {
  return parts.some((part) => part.kind === 'webhook' && part.webhookId === id);
}

function rowsOf({ event }: Pick<Step, 'event'>): ChangeData[] {
  return event?.type === UPDATED ? (event.data.changes as ChangeData[]) : [];
}
