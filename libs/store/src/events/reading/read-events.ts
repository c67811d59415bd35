import type { LogPlace } from '@gateway/contracts/events/cursor';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { readSurely } from '../../core/confirming/write-together.js';
import type { Store } from '../../core/store.js';
import { type LogGone, readLog } from '../read-log.js';
import { type EventFilter, eachEvent, type RenderedEvent } from '../render-events.js';
import { charactersIn, HELD_CHARACTERS } from './held-characters.js';

export interface EventPage {
  /** Each with where one is who has it. */
  rows: RenderedEvent[];
  next: LogPlace;
  /** Changes that were looked through for them. */
  looked: number;
  /** There is nothing behind it now. */
  isLast: boolean;
}

/** Entries that are read for one page. Most are of one change; one may be of ten thousand. */
const ENTRIES = 200;

/**
 * The events behind a place, of about `limit` changes, with no more than `HELD_CHARACTERS` of what people wrote; `LogGone` when some of
 * them are not there any more. Throws `not_confirmed` until replicas have them: what was told once does not come again after a failover,
 * under a later place.
 */
export async function readEvents(
  { store, workspace }: { store: Store; workspace: Workspace },
  asked: LogPlace,
  { limit, ...filter }: EventFilter & { limit: number },
): Promise<EventPage | LogGone> {
  const found = await readSurely(store, workspaceKeys(store.space, workspace).eventLog, {
    read: () => readLog(store, workspace, asked, { limit: ENTRIES }),
    isAnything: (part) => 'entries' in part && part.entries.length > 0,
  });
  if ('oldest' in found) return found;
  // A place within what was the first entry of all says nothing of what is the first now: it is told whole.
  const after = { entry: found.from, offset: asked.entry === '0-0' ? 0 : asked.offset };
  const { entries, changes: looked, isLast } = found;
  const page: EventPage = { rows: [], next: after, looked, isLast };
  let [changes, characters] = [0, 0];
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
  const last = entries.at(-1);
  if (last) page.next = { entry: last.id, offset: 0 };
  return page;
}
