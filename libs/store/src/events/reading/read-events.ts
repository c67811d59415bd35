import { compareEntries, type LogPlace } from '@gateway/contracts/events/cursor';
import type { HeldPlace, ReaderPlace } from '@gateway/contracts/events/reader-place';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { allShardsIn, type ShardSet, withoutShards } from '@gateway/contracts/shards';
import { ShardsAwayError } from '../../core/away/away-shards.js';
import { readSurely } from '../../core/confirming/write-together.js';
import type { Store } from '../../core/store.js';
import { readLog } from '../read-log.js';
import { type EventFilter, eachEvent, type RenderedEvent } from '../render-events.js';
import { charactersIn, HELD_CHARACTERS } from './held-characters.js';

/** An event, and where one is who has it. */
export interface ReadEvent extends RenderedEvent {
  place: ReaderPlace;
}

export interface EventPage {
  rows: ReadEvent[];
  next: ReaderPlace;
  /** Changes that were looked through for them. */
  looked: number;
  /** There is nothing behind it now. */
  isLast: boolean;
}

/** What the reader missed was in the log once, and is there no more. */
export interface ReaderGone {
  /** From there on all is there. */
  oldest: ReaderPlace;
}

interface LogReader {
  store: Store;
  workspace: Workspace;
}

type PageFilter = EventFilter & { limit: number };

/** Entries that are read for one page. Most are of one change; one may be of ten thousand. */
const ENTRIES = 200;

/**
 * The events behind a place, of about `limit` changes, with no more than `HELD_CHARACTERS` of what people wrote; `ReaderGone` when some of
 * them are not there any more. What lies on a node of Redis that is away is passed, and read from where it was passed once that is back:
 * the order of each device stays. Throws `not_confirmed` until replicas have them: what was told once does not come again after a failover,
 * under a later place.
 */
export async function readEvents(
  reader: LogReader,
  { held: before = [], ...place }: ReaderPlace,
  filter: PageFilter,
): Promise<EventPage | ReaderGone> {
  for (const each of before) {
    if (reader.store.awayShards.areAway(each.shards)) continue;
    const page = await readHeld(reader, { ...place, held: before }, each, filter);
    if (!('away' in page)) return page;
  }
  for (let held = before; ; ) {
    const passed = allShardsIn(held);
    const shards = held.length > 0 ? { shards: { without: passed } } : {};
    const page = await readPart(reader, place, { ...filter, ...shards });
    if ('oldest' in page) return page;
    if (!('away' in page)) return held.length > 0 ? placed(page, (at) => ({ ...at, held })) : page;
    held = [...held, { ...page.at, shards: withoutShards(page.away, passed) }];
  }
}

/** What was passed of one node. */
async function readHeld(
  reader: LogReader,
  { held = [], ...place }: ReaderPlace,
  back: HeldPlace,
  filter: PageFilter,
): Promise<EventPage | ReaderGone | AwayPart> {
  const { shards, ...from } = back;
  const page = await readPart(reader, from, { ...filter, shards: { only: shards }, upTo: place.entry });
  const at = (moved: LogPlace): ReaderPlace => ({
    ...place,
    held: held.map((each) => (each === back ? { ...moved, shards } : each)),
  });
  if ('oldest' in page) return { oldest: at(page.oldest) };
  if ('away' in page) return page;
  const found = placed(page, at);
  if (!page.isLast) return found;
  const others = held.filter((each) => each !== back);
  return { ...found, next: others.length > 0 ? { ...place, held: others } : place, isLast: false };
}

const placed = (page: EventPage, at: (place: LogPlace) => ReaderPlace): EventPage => ({
  ...page,
  rows: page.rows.map((row) => ({ ...row, place: at(row.place) })),
  next: at(page.next),
});

/** The first of what there is lies on a node that is away. */
interface AwayPart {
  away: ShardSet;
  at: LogPlace;
}

/** @param filter.upTo behind this entry nothing is read. */
async function readPart(
  { store, workspace }: LogReader,
  asked: LogPlace,
  { limit, upTo, ...filter }: PageFilter & { upTo?: string },
): Promise<EventPage | ReaderGone | AwayPart> {
  const found = await readSurely(store, workspaceKeys(store.space, workspace).eventLog, {
    read: () => readLog(store, workspace, asked, { limit: ENTRIES }),
    isAnything: (part) => 'entries' in part && part.entries.length > 0,
  });
  if ('oldest' in found) return found;
  // A place within what was the first entry of all says nothing of what is the first now: it is told whole.
  const after = { entry: found.from, offset: asked.entry === '0-0' ? 0 : asked.offset };
  const isWithin = ({ id }: { id: string }) => upTo === undefined || compareEntries(id, upTo) <= 0;
  const entries = found.entries.filter(isWithin);
  const isLast = found.isLast || entries.length < found.entries.length;
  const page: EventPage = { rows: [], next: after, looked: found.changes, isLast };
  let [changes, characters] = [0, 0];
  try {
    for await (const { event, place, lostContent } of eachEvent(store, workspace, entries, {
      ...filter,
      taken: after.offset,
    })) {
      // Of the first entry, what was taken before.
      if (place.entry === '0-0' && place.offset <= after.offset) continue;
      const weight = [event.data.changes, event.data.phones].find(Array.isArray)?.length ?? 1;
      const written = event.type === 'message.received' ? charactersIn(event.data) : 0;
      const isFull = changes + weight > limit || characters + written > HELD_CHARACTERS;
      if (changes > 0 && isFull) return { ...page, isLast: false };
      [changes, characters] = [changes + weight, characters + written];
      // A place within the first entry is behind what came before it.
      const here = place.offset > 0 && place.entry === '0-0' ? { entry: after.entry, offset: place.offset } : place;
      page.rows.push({ event, place: here, ...(lostContent && { lostContent }) });
      page.next = here;
    }
  } catch (thrown) {
    if (!(thrown instanceof ShardsAwayError)) throw thrown;
    return page.rows.length > 0 ? { ...page, isLast: false } : { away: thrown.shards, at: after };
  }
  const last = entries.at(-1);
  if (last) page.next = { entry: last.id, offset: 0 };
  return page;
}
