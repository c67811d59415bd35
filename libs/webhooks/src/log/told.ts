import { type LogPlace, sayCursor } from '@gateway/contracts/events/cursor';
import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { UPDATED } from '@gateway/store/events/reading/change-shapes';
import type { ToldGapCause } from '@gateway/store/events/reading/gaps';
import { type ParkedEvent, parkedId } from '@gateway/store/webhooks/delivering/parked/parked';
import type { Told } from '../feed.js';

export const GAP = 'events.gap';

/** One event, or all that came before it and is for others. */
export interface Step {
  /** Where a lane is that has been told this. */
  place: LogPlace;
  /** Of the log: its last one. */
  entry: string;
  /** How many of the log it is the first to tell of. */
  entries: number;
  /** Of its first one. */
  atMs: number;
  event?: GatewayEvent;
  /** Of a gap: the log does not go back to what came before. */
  isLoss?: true;
  /** With it a list has ended, whether that is told or not. */
  isEnd?: boolean;
  /** Of what a person wrote: see `DescribedMessage`. */
  writer?: string;
  /** The same. */
  lostContent?: true;
  /** See `textsHolder`. */
  bytes?: number;
  /** Where one is who has this event. */
  end?: LogPlace;
  /** The next event ends at the same place. */
  goesOn?: boolean;
  /** See `EntryEvent`. */
  gap?: ToldGapCause;
  /** Of its changes: see `EntryEvent`. */
  rows?: { behind: string; ends?: readonly number[]; areTwice: readonly boolean[] };
}

export interface LogTold extends Told {
  event: GatewayEvent;
  /** Of `messages.updated`: this one change. */
  row?: ChangeData;
  writer?: string;
  lostContent?: true;
}

export type ToldStep = Pick<Step, 'entry' | 'event' | 'writer' | 'lostContent' | 'bytes' | 'place' | 'rows' | 'gap'>;

export function toldIn({ entry, event, writer, lostContent, bytes, place, rows, gap }: ToldStep): LogTold[] {
  if (!event) return [];
  const { type, device } = event;
  const to = sayCursor(place);
  if (type !== UPDATED) {
    const parks: ParkedEvent = { entry, id: parkedId(event.id), type };
    const found = { ...(writer !== undefined && { writer }), ...(lostContent && { lostContent }) };
    return [{ event, to, parks, ...found, ...(bytes && { bytes }), ...(gap && { gap }) }];
  }
  return rowsOf({ event }).map((row, i) => {
    const parks: ParkedEvent = { entry, id: row.id, type };
    if (device !== null) parks.device = device;
    if (rows?.areTwice[i]) parks.isTwice = parks.isSecond = true;
    return { event, row, to, parks };
  });
}

/** One to an entry. The version before named opt-outs by a digest of their numbers. */
const isOfEntry = (type: string) => type === GAP || type.startsWith('optout.');
/** The version before wrote long ids whole. */
export const nameOf = ({ entry, type, id }: ParkedEvent) => `${type} ${isOfEntry(type) ? entry : parkedId(id)}`;

/** Of whom an event tells, or of what: of that the order holds. */
export function whoIn(told: LogTold): string {
  const { event, row, writer } = told;
  if (writer !== undefined) return writer;
  const { to, index } = (row ?? event.data) as Record<string, unknown>;
  return index === undefined || to == null ? whatIn(told) : String(to);
}

function whatIn({ event: { id, type, data }, row, parks }: LogTold): string {
  const { messageId, index, webhookId } = (row ?? data) as Record<string, unknown>;
  // Those that were joined are another one than the first of them, which may have been told alone.
  if (type === GAP) return /_\d+_gap$/.test(id) ? id : gapAt(parks.entry);
  // Not by the id that the phone chose, which may be the name of anything else here.
  if (type === 'message.received') return id;
  if (index !== undefined) return `${messageId}/${index}`;
  return String(messageId ?? webhookId ?? type.split('.')[0]);
}

/** The same once the person is forgotten: in the place of opt-outs there is a gap then. */
export const whatIsLeftOf = (told: LogTold): string =>
  told.event.type.startsWith('optout.') ? gapAt(told.parks.entry) : whatIn(told);

/** Whatever else is missing with it. */
const gapAt = (entry: string) => `gap ${entry}`;

export function rowsOf({ event }: Pick<Step, 'event'>): ChangeData[] {
  return event?.type === UPDATED ? (event.data.changes as ChangeData[]) : [];
}
