import { compareEntries, type LogPlace, parseCursor, sayCursor } from '@gateway/contracts/events/cursor';
import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import type { Workspace } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import { type LoggedEntry, readEntries, readLog } from '@gateway/store/events/read-log';
import { renderEvents, updateOf } from '@gateway/store/events/render-events';
import type { Lane } from '@gateway/store/webhooks/delivering/deliveries';
import type { ParkedEvent } from '@gateway/store/webhooks/delivering/parked';
import type { Webhook } from '@gateway/store/webhooks/webhooks';
import type { Feed, Told } from './feed.js';
import { hideParts } from './hide-parts.js';

/** One event, or all that came before it and is for others. */
interface Step {
  /** Where a lane is that has been told this. */
  place: LogPlace;
  /** Of the log. */
  entry: string;
  atMs: number;
  event?: GatewayEvent;
}

interface LogTold extends Told {
  event: GatewayEvent;
  /** Of `messages.updated`: this one change. */
  row?: ChangeData;
}

const ENTRIES_AT_ONCE = 500;
const UPDATED = 'messages.updated';
const GAP = 'events.gap';

/** The log of a workspace, cut into requests. Changes of lists are gathered over time, all else is a request of its own. */
export function logFeed(
  store: Store,
  workspace: Workspace,
  { clock, onGap }: { clock: Clock; onGap: () => void },
): Feed<LogTold> {
  const keys = new WeakMap<LogTold, string>();
  const stepsAfter = async (webhook: Webhook, lane: Lane, after: LogPlace): Promise<Step[]> => {
    const found = await readLog(store, workspace, after, { limit: ENTRIES_AT_ONCE });
    if ('oldest' in found) return [gapBefore(webhook, lane, found.oldest)];
    return toSteps(store, workspace, { webhook, lane, after, entries: found.entries });
  };
  return {
    async findEnd(webhook, lane, { after, most }) {
      const steps = await stepsAfter(webhook, lane, parseCursor(after)!);
      if (steps[0]?.event?.type === GAP) onGap();
      const request = takeRequest(steps, most);
      const last = request.at(-1);
      if (!last) return undefined;
      const rows = request.flatMap(rowsOf);
      // What comes behind it, or fills a request, or has waited for long enough, goes at once.
      const isWaiting = lane === 'lists' && rows.length > 0 && rows.length < most && request.length === steps.length;
      const firstMs = request.find(({ event }) => event)?.atMs ?? 0;
      if (isWaiting && clock.nowMs() < firstMs + webhook.settings.gatherSeconds * 1000) return undefined;
      return sayCursor(last.place);
    },
    async read(webhook, lane, { after, to }) {
      const end = parseCursor(to)!;
      const told: LogTold[] = [];
      let place = parseCursor(after)!;
      while (comparePlaces(place, end) < 0) {
        const steps = await stepsAfter(webhook, lane, place);
        for (const step of steps) if (comparePlaces(step.place, end) <= 0) told.push(...toldIn(step));
        const last = steps.at(-1);
        if (!last) break;
        place = last.place;
      }
      return told;
    },
    async readAgain({ settings: { types, devices } }, events) {
      const ids = [...new Set(events.map(({ entry }) => entry))].sort(compareEntries);
      const entries = await readEntries(store, workspace, ids);
      const rendered = await renderEvents(store, workspace, entries, { types, ...(devices && { devices }) });
      const found = new Map<string, LogTold>();
      for (const [entry, inEntry] of groupByEntry(rendered)) {
        for (const event of inEntry) {
          for (const told of toldIn({ entry, event })) found.set(nameOf(told.parks), told);
        }
      }
      const kept = new Set(entries.map(({ id }) => id));
      return events.map((event) => (kept.has(event.entry) ? found.get(nameOf(event)) : 'gone'));
    },
    keyOf(lane, told) {
      const known = keys.get(told);
      if (known !== undefined) return known;
      const parts = [workspace, lane, told.event.device ?? '', whoIn(told)];
      const key = store.vault.digest('parked', parts).toString('base64url').slice(0, KEY_CHARACTERS);
      keys.set(told, key);
      return key;
    },
    pack({ settings }, told) {
      const [first] = told as [LogTold];
      const rows = told.flatMap(({ row }) => row ?? []);
      const device = first.event.device ?? undefined;
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

async function toSteps(
  store: Store,
  workspace: Workspace,
  { webhook, lane, after, entries }: { webhook: Webhook; lane: Lane; after: LogPlace; entries: readonly LoggedEntry[] },
): Promise<Step[]> {
  const { types, devices } = webhook.settings;
  const mine = entries.filter((entry) => entry.class === lane && !tellsOf(entry, webhook));
  const rendered = await renderEvents(store, workspace, mine, { types, ...(devices && { devices }) });
  const ofEntry = groupByEntry(rendered);
  const steps: Step[] = [];
  let former = after.entry;
  for (const { id, atMs } of entries) {
    const events = ofEntry.get(id) ?? [];
    const taken = former === after.entry ? after.offset : 0;
    const places = events.map((_, i) =>
      i === events.length - 1 ? { entry: id, offset: 0 } : { entry: former, offset: i + 1 },
    );
    for (const [i, event] of events.entries())
      if (i >= taken) steps.push({ place: places[i]!, entry: id, atMs, event });
    const last = steps.at(-1);
    // Nothing to tell: that this was seen goes with what is told next, or alone.
    if (events.length === 0) {
      if (last && !last.event) last.place = { entry: id, offset: 0 };
      else steps.push({ place: { entry: id, offset: 0 }, entry: id, atMs });
    }
    former = id;
  }
  return steps;
}

/** The log does not go back to where the lane is. */
function gapBefore({ id, settings }: Webhook, lane: Lane, place: LogPlace): Step {
  const atMs = Number(place.entry.split('-')[0]);
  if (!settings.types.includes('events.gap')) return { place, entry: place.entry, atMs };
  const event: GatewayEvent = {
    ...{ id: `evt_${id}_${lane}_${place.entry}_gap`, type: GAP, version: 1 },
    ...{ timestamp: new Date(atMs).toISOString(), device: null, data: { missing: null } },
  };
  return { place, entry: place.entry, atMs, event };
}

/** No endpoint hears of itself: it would be told that it fails when it is over. */
function tellsOf({ parts }: LoggedEntry, { id }: Webhook): boolean {
  return parts.some((part) => part.kind === 'webhook' && part.webhookId === id);
}

/** By the entry that the last of its events ends. */
function groupByEntry(rendered: Awaited<ReturnType<typeof renderEvents>>): Map<string, GatewayEvent[]> {
  const groups = new Map<string, GatewayEvent[]>();
  let events: GatewayEvent[] = [];
  for (const { event, place } of rendered) {
    events.push(event);
    if (place.offset > 0) continue;
    groups.set(place.entry, events);
    events = [];
  }
  return groups;
}

/** The first steps that are one request: any one event, or updates of one device with so many changes together. */
function takeRequest(steps: readonly Step[], most: number): Step[] {
  const request: Step[] = [];
  let first: GatewayEvent | undefined;
  let rows = 0;
  for (const step of steps) {
    const { event } = step;
    if (event && first) {
      rows += rowsOf(step).length;
      const belongs = first.type === UPDATED && event.type === UPDATED && event.device === first.device;
      if (!belongs || rows > most) break;
    } else if (event) {
      first = event;
      rows = rowsOf(step).length;
    }
    request.push(step);
  }
  return request;
}

function rowsOf({ event }: Pick<Step, 'event'>): ChangeData[] {
  return event?.type === UPDATED ? (event.data.changes as ChangeData[]) : [];
}

function comparePlaces(one: LogPlace, other: LogPlace): number {
  return compareEntries(one.entry, other.entry) || one.offset - other.offset;
}
