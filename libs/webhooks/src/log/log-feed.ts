import {
  compareEntries,
  comparePlaces,
  entryMs,
  type LogPlace,
  parseCursor,
  sayCursor,
} from '@gateway/contracts/events/cursor';
import { type EventIdParts, parseEventId } from '@gateway/contracts/events/event-id';
import type { GatewayEvent } from '@gateway/contracts/events/events';
import type { DeviceId, Workspace } from '@gateway/contracts/ids';
import { shardOfEvent } from '@gateway/contracts/shards';
import { hideParts } from '@gateway/contracts/webhooks/hide-parts';
import type { Clock } from '@gateway/runtime/clock';
import { ShardsAwayError } from '@gateway/store/core/away/away-shards';
import type { Store } from '@gateway/store/core/store';
import { digest } from '@gateway/store/core/vault';
import { describeReceived } from '@gateway/store/events/describe-received';
import { type LoggedEntry, readDevices, readEntries, readLog } from '@gateway/store/events/read-log';
import { type AskedPart, UPDATED, wantedOf } from '@gateway/store/events/reading/change-shapes';
import { gatheredAgain, gatherGaps } from '@gateway/store/events/reading/gaps';
import { type EntryEvent, entryReader, updateOf } from '@gateway/store/events/render-events';
import type { AskedUpTo, TellLane } from '@gateway/store/webhooks/delivering/lanes';
import { type ParkedEvent, parkedId } from '@gateway/store/webhooks/delivering/parked/parked';
import { readParkingKey } from '@gateway/store/webhooks/delivering/parked/parking-key';
import type { Webhook } from '@gateway/store/webhooks/webhooks';
import { type Feed, filterOf, isFor, type ToldAgain, type ToldWebhook } from '../feed.js';
import { findShards } from './find-shards.js';
import { isWithoutText, textsHolder } from './held-texts.js';
import {
  dueAfter,
  type LanePlace,
  lookAhead,
  type Reading,
  tellsChanges,
  UNWRITTEN,
  type Waiting,
} from './look-ahead.js';
import { isOfOneChange, readChange } from './one-change.js';
import { idsOf, idsOfForgotten, isOfLostKey } from './other-ids.js';
import { GAP, type LogTold, nameOf, rowsOf, type Step, type ToldStep, toldIn, whatIsLeftOf, whoIn } from './told.js';

/** 72 bits: two people who have the same would only wait for each other. */
const KEY_CHARACTERS = 12;
const ENTRIES_AT_ONCE = 100;
/** Looked at for one request. */
const MOST_ENTRIES = 2_000;
/** Of one endpoint: what need not be read again. */
export interface FeedMemory extends Pick<Reading, 'passed' | 'reads'> {
  /** Of each lane in which something waits, when it is time for that. */
  due: Map<TellLane, number>;
  /** Once something is told. */
  parkingKey?: Buffer;
  /** With which entry the log began when it was found not to go back far enough. */
  lossBefore?: string;
}

export interface LogFeedDeps {
  clock: Clock;
  onGap: () => void;
  memory: FeedMemory;
  /** How what people wrote is looked up. */
  describe?: typeof describeReceived;
}

/** The log of a workspace, cut into requests. Changes of lists are gathered over time, all else is a request of its own. For one look at an endpoint: what it tells of may be forgotten before the next. */
export function logFeed(
  store: Store,
  workspace: Workspace,
  { clock, onGap, memory, describe = describeReceived }: LogFeedDeps,
): Feed<LogTold> {
  // What is told once more is asked for with both: the lane that it was told in, and `replay`.
  const keys: Record<TellLane, WeakMap<LogTold, string>> = {
    prompt: new WeakMap(),
    lists: new WeakMap(),
    replay: new WeakMap(),
  };
  let latest: Found | undefined;
  const makeKey = (lane: TellLane, { event }: LogTold, who: string) =>
    digest(memory.parkingKey!, [workspace, lane, event.device ?? '', who])
      .toString('base64url')
      .slice(0, KEY_CHARACTERS);
  const withText = async (told: LogTold): Promise<Pick<LogTold, 'event' | 'lostContent'>> => {
    const { event } = told;
    if (!isWithoutText(event)) return told;
    const address = { workspace, device: event.device! };
    const { receivedId } = parseEventId(event.id) as EventIdParts & { kind: 'received' };
    const arrivedAtMs = Date.parse(event.timestamp);
    const { data, ...of } = await store.awayShards.read(address, () =>
      describe(store, address, { receivedId, arrivedAtMs }),
    );
    return { ...of, event: { ...event, data } };
  };
  return {
    async findEnd(webhook, lane, { after, asked, upTo, ...limits }) {
      const found = await findRequest(
        { ...{ store, workspace, clock, describe }, passed: memory.passed, reads: memory.reads },
        { webhook, lane, after: parseCursor(after)!, asked: asked ?? [], last: upTo && parseCursor(upTo), ...limits },
      );
      memory.due.delete(lane);
      if ('dueMs' in found) {
        // What is told once more ends where it ends.
        if (lane !== 'replay') memory.due.set(lane, found.dueMs);
        return 'later';
      }
      if (found.length === 0) return undefined;
      const loss = found.find(({ isLoss }) => isLoss);
      // Each lane comes to it.
      if (loss && loss.entry !== memory.lossBefore) {
        memory.lossBefore = loss.entry;
        onGap();
      }
      const to = sayCursor(found.at(-1)!.place);
      latest = { webhook, lane, after, to, steps: found };
      return { to, entries: found.reduce((sum, { entries }) => sum + entries, 0) };
    },
    async read(webhook, lane, { after, to, asked = [] }) {
      memory.parkingKey ??= webhook.parkingKey ?? (await readParkingKey(store, workspace, webhook.id));
      const isLatest =
        latest?.webhook === webhook && latest.lane === lane && latest.after === after && latest.to === to;
      if (latest && isLatest) {
        latest.told ??= latest.steps.flatMap(toldIn);
        return latest.told;
      }
      const end = parseCursor(to)!;
      const place = { webhook, lane, after: parseCursor(after)!, asked };
      if (isOfOneChange(place, end)) return readChange({ store, workspace }, place, end);
      const told: LogTold[] = [];
      const steps = gatherGaps(stepsAfter({ store, workspace, describe }, place), { most: MOST_ENTRIES, upTo: end });
      for await (const step of steps) {
        if (comparePlaces(step.place, end) <= 0) told.push(...toldIn(step));
        else told.push(...toldIn(step).filter((_, i) => endsBy(step, i, end)));
        // All that ends there is in it.
        if (comparePlaces(step.place, end) >= 0 && !step.goesOn) break;
      }
      return told;
    },
    findShards: (webhook, lane, { after, to }) =>
      findShards({ store, workspace }, { webhook, lane, after: parseCursor(after)! }, parseCursor(to)!),
    async findShardsOf(events) {
      const devices = await readDevices(store, workspace, [...new Set(events.map(({ entry }) => entry))]);
      return events.map(({ entry }) => shardOfEvent({ workspace, device: devices.get(entry) }));
    },
    async readAgain(webhook, events) {
      const { types } = webhook.settings;
      memory.parkingKey ??= webhook.parkingKey ?? (await readParkingKey(store, workspace, webhook.id));
      const ids = [...new Set(events.map(({ entry }) => entry))].sort(compareEntries);
      const entries = await readEntries(store, workspace, ids);
      const eachOf = entryReader(store, workspace, { ...filterOf(webhook), describe });
      const hold = textsHolder<ToldStep>();
      const found = new Map<string, ToldAgain<LogTold>>();
      const otherwise = new Map<string, ToldAgain<LogTold>>();
      const alone = new Set<string>();
      const gone = new Set(ids);
      let places = 0;
      for (const entry of entries) {
        gone.delete(entry.id);
        for await (const { event, writer, lostContent } of eachOf(entry, 0)) {
          // In the place of what its send would say.
          if (event.type === GAP) gone.add(entry.id);
          const place = { entry: entry.id, offset: 0 };
          const of = { ...(writer !== undefined && { writer }), ...(lostContent && { lostContent }) };
          for (const each of toldIn(hold({ entry: entry.id, event, place, ...of }))) {
            const told = { ...each, place: places++ };
            for (const id of idsOf(told)) {
              found.set(nameOf({ ...told.parks, id }), told);
              if (!tellsChanges(told.parks.type)) continue;
              otherwise.set(id, told);
              if (!told.row) alone.add(id);
            }
          }
        }
      }
      const sameOf = (event: ParkedEvent) => {
        // Told already, in the way that is asked for now.
        if (event.isSecond && !alone.has(event.id)) return undefined;
        const same = found.get(nameOf(event));
        if (same && event.type === GAP) return { ...same, event: gatheredAgain(same.event, event.id), parks: event };
        const told = same ?? (event.isTwice ? undefined : otherwise.get(event.id));
        return told && told.parks.id !== parkedId(event.id) ? { ...told, parks: event } : told;
      };
      const isGone = async (event: ParkedEvent) => {
        const entry = entries.find(({ id }) => id === event.entry);
        if (!entry || gone.has(event.entry)) return true;
        // What is told before it tells the same change.
        return !event.isSecond && (await isOfLostKey(store, workspace, { event, entry, types }));
      };
      return Promise.all(events.map(async (event) => sameOf(event) ?? ((await isGone(event)) ? 'gone' : undefined)));
    },
    keyOf(lane, told) {
      const known = keys[lane].get(told) ?? makeKey(lane, told, whoIn(told));
      keys[lane].set(told, known);
      return known;
    },
    keyOfForgotten: (lane, told) => makeKey(lane, told, whatIsLeftOf(told)),
    idsOfForgotten,
    setKey: (lane, told, key) => void keys[lane].set(told, key),
    async pack({ settings }, told) {
      const [first] = told as [LogTold];
      const rows = told.flatMap(({ row }) => row ?? []);
      const isOfOne = rows.every(({ device }) => device === first.event.device);
      const device = isOfOne ? (first.event.device ?? undefined) : undefined;
      const entry = {
        atMs: Date.parse(first.row?.at ?? first.event.timestamp),
        ...(device !== undefined && { device }),
      };
      const { event, lostContent } = first.row ? { event: updateOf(entry, rows) } : await withText(first);
      // What it does not want to know is no loss to it.
      const isLoss = lostContent && settings.content !== 'none';
      const body = Buffer.from(JSON.stringify(hideParts(event, settings)));
      return { id: event.id, body, atMs: entry.atMs, ...(isLoss && { lostContent }) };
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

type Described = Required<Pick<LogFeedDeps, 'describe'>>;

/** What was found last: it is read again at once. */
interface Found {
  webhook: ToldWebhook;
  lane: TellLane;
  after: string;
  to: string;
  steps: readonly Step[];
  told?: LogTold[];
}

type RequestRange = LanePlace & { most: number; alone?: number; last?: LogPlace | '' | undefined };

/** The first steps: updates with so many changes together, or `alone` other events; fewer where what follows is away. */
async function findRequest(reading: Reading & Described, range: RequestRange): Promise<readonly Step[] | Waiting> {
  const request: Step[] = [];
  try {
    return await fillRequest(request, reading, range);
  } catch (thrown) {
    while (request.at(-1)?.goesOn) request.pop();
    if (request.length > 0 && thrown instanceof ShardsAwayError) return request;
    throw thrown;
  }
}

async function fillRequest(
  request: Step[],
  reading: Reading & Described,
  { most, alone = 1, last, ...place }: RequestRange,
): Promise<readonly Step[] | Waiting> {
  const { clock } = reading;
  const { webhook, lane } = place;
  const waiting = await lookAhead(reading, { ...place, most });
  if (waiting !== undefined) return waiting === 'quiet' ? [] : waiting;
  let first: Step | undefined;
  let rows = 0;
  let seen = 0;
  let events = 0;
  let hasEnded = false;
  for await (const step of gatherGaps(stepsAfter(reading, place), { most: MOST_ENTRIES })) {
    const { event } = step;
    const count = rowsOf(step).length;
    const start = !first && count > most && startOf(step, most);
    if (start) return [...request, start];
    rows += count;
    if (event && first && ((event.type === UPDATED) !== (first.event!.type === UPDATED) || rows > most)) return request;
    if (event) first ??= step;
    if (first && step.isEnd) hasEnded = true;
    request.push(step);
    seen += step.entries;
    // Nothing can be told with it.
    if (event && event.type !== UPDATED) events++;
    // What ends at the same place comes with it.
    if (step.goesOn) continue;
    if (events >= alone) return request;
    if (rows === most || seen >= MOST_ENTRIES || (last && comparePlaces(step.place, last) >= 0)) return request;
  }
  if (!first) {
    if (request.length === 0) return [];
    const dueMs = dueAfter(request[0]!.atMs, UNWRITTEN.ms, clock);
    return clock.nowMs() >= dueMs || seen >= UNWRITTEN.entries ? request : { dueMs };
  }
  const dueMs = dueAfter(first.atMs, webhook.settings.gatherSeconds * 1000, clock);
  const isWaiting = lane === 'lists' && events === 0 && !hasEnded && clock.nowMs() < dueMs;
  return isWaiting ? { dueMs } : request;
}

/** What is in the log behind a place: each event that is for the lane, and what is not for it. */
async function* stepsAfter(
  { store, workspace, describe }: Pick<Reading, 'store' | 'workspace'> & Described,
  { webhook, lane, after, asked }: LanePlace,
): AsyncGenerator<Step> {
  const { devices } = webhook.settings;
  const eachOf = entryReader(store, workspace, { ...filterOf(webhook), leavesOutIds: true, describe });
  const hold = textsHolder<Step>();
  const isWanted = (atMs: number) => isFor(webhook, lane, atMs);
  let former = after.entry;
  for (;;) {
    const found = await readLog(store, workspace, { entry: former, offset: 0 }, { limit: ENTRIES_AT_ONCE, isWanted });
    if ('oldest' in found) {
      // Who asks for a time once more has missed nothing by what is kept no longer, or came before all that was.
      if (!webhook.times) yield gapBefore(webhook, lane, found.oldest);
      former = found.oldest.entry;
      continue;
    }
    let others: Step | undefined;
    for (const entry of found.entries) {
      const { id, atMs } = entry;
      const taken = former === after.entry ? after.offset : 0;
      let held: EntryEvent | undefined;
      if ((lane === 'replay' || entry.class === lane) && isWanted(atMs) && !tellsOf(entry, webhook)) {
        for await (const event of eachOf(entry, taken, partsBehind(former, asked))) {
          if (event.end <= taken) continue;
          if (others) yield others;
          others = undefined;
          if (held) {
            const place = { entry: former, offset: held.end };
            const goesOn = held.end === event.end;
            yield hold(stepOf(held, former, { place, goesOn, entry: id, entries: 0, atMs }));
          }
          held = event;
        }
      }
      const place = { entry: id, offset: 0 };
      const isEnd = endsList(entry, devices);
      if (held) yield hold(stepOf(held, former, { place, entry: id, entries: 1, atMs, isEnd }));
      else {
        const [entries, sinceMs] = [(others?.entries ?? 0) + 1, others?.atMs ?? atMs];
        others = { place, entry: id, entries, atMs: sinceMs, isEnd: isEnd || others?.isEnd === true };
      }
      former = id;
    }
    if (others) yield others;
    if (found.isLast) return;
  }
}

function stepOf(told: EntryEvent, behind: string, step: Step): Step {
  const { event, end, writer, lostContent, rowEnds, areTwice, areTogetherOnly, gap } = told;
  step.event = event;
  if (writer !== undefined) step.writer = writer;
  if (lostContent) step.lostContent = lostContent;
  step.end = { entry: behind, offset: end };
  if (gap) step.gap = gap;
  if (areTwice) step.rows = areTogetherOnly ? { behind, areTwice, ends: rowEnds! } : { behind, areTwice };
  return step;
}

/** How what was passed of the entry behind this one was told. */
function partsBehind(behind: string, asked: readonly AskedUpTo[]): AskedPart[] {
  return asked.flatMap(({ to, types }) => {
    const { entry, offset } = parseCursor(to)!;
    return entry === behind ? [{ upTo: offset, wanted: wantedOf(types) }] : [];
  });
}

/** So many changes of what is told together, or some fewer: more are too large for the endpoint. */
function startOf(step: Step, most: number): Step | undefined {
  const { behind, ends } = step.rows!;
  const count = ends ? ends.indexOf(ends[most]!) : 0;
  if (!ends || count === 0) return undefined;
  const event = { ...step.event!, data: { changes: rowsOf(step).slice(0, count) } };
  return { ...step, event, place: { entry: behind, offset: ends[count - 1]! } };
}

/** A request may end within what is told together: it was too large, or was claimed before other types were asked for. */
function endsBy({ end, rows }: Step, row: number, last: LogPlace): boolean {
  const offset = rows?.ends?.[row];
  const own = offset === undefined ? end : { entry: rows!.behind, offset };
  return own !== undefined && comparePlaces(own, last) <= 0;
}

/** The log does not go back to where the lane is: that is told to all, whatever they ask for. */
function gapBefore({ id }: Webhook, lane: TellLane, place: LogPlace): Step {
  const atMs = entryMs(place.entry);
  const event: GatewayEvent = {
    ...{ id: `evt_${id}_${lane}_${place.entry}_gap`, type: GAP, version: 1 },
    ...{ timestamp: new Date(atMs).toISOString(), device: null, data: { missing: null } },
  };
  return { place, entry: place.entry, entries: 0, atMs, event, isLoss: true };
}

/** No endpoint hears of itself: it would be told that it fails when it is over. */
function tellsOf({ parts }: LoggedEntry, { id }: Webhook): boolean {
  return parts.some((part) => part.kind === 'webhook' && part.webhookId === id);
}

function endsList({ class: of, device, parts }: LoggedEntry, devices: readonly DeviceId[] | null): boolean {
  return of === 'lists' && (!devices || devices.includes(device!)) && parts.some(({ kind }) => kind === 'finished');
}
