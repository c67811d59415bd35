/** Where one is in a log: behind this entry, or in the middle of the next one. */
export interface LogPlace {
  /** Of the stream: `ms-number`. `0-0` is before the first. */
  entry: string;
  /** How far in the entry after it: see render-events.ts. */
  offset: number;
}

export const LOG_START: LogPlace = { entry: '0-0', offset: 0 };

/** Of entries of one millisecond: more than there can be. */
const MAX_NUMBER = 9_999_999_999;
const CURSOR = /^(\d{1,15}-\d{1,10})(?:\.(\d{1,5}))?$/;

/** `undefined` for what is no cursor. `0` is the start. */
export function parseCursor(text: string): LogPlace | undefined {
  if (text === '0') return LOG_START;
  const [, entry, offset = '0'] = CURSOR.exec(text) ?? [];
  return entry === undefined ? undefined : { entry, offset: Number(offset) };
}

export function sayCursor({ entry, offset }: LogPlace): string {
  return offset === 0 ? entry : `${entry}.${offset}`;
}

/** Of ids of stream entries: below 0 if the first is older. */
export function compareEntries(a: string, b: string): number {
  const [[aMs, aNumber], [bMs, bNumber]] = [a, b].map((id) => id.split('-').map(Number)) as [number[], number[]];
  return aMs! - bMs! || aNumber! - bNumber!;
}

export function comparePlaces(one: LogPlace, other: LogPlace): number {
  return compareEntries(one.entry, other.entry) || one.offset - other.offset;
}

/** Of texts that are cursors. */
export function compareCursors(one: string, other: string): number {
  return comparePlaces(parseCursor(one)!, parseCursor(other)!);
}

/** When an entry came into its log. */
export const entryMs = (id: string): number => Number(id.split('-')[0]);

/** No entry lies between the two. */
export function entryBefore(id: string): string {
  const [ms, number] = id.split('-').map(Number) as [number, number];
  return number > 0 ? `${ms}-${number - 1}` : `${Math.max(ms - 1, 0)}-${MAX_NUMBER}`;
}

export function entryAfter(id: string): string {
  const [ms, number] = id.split('-').map(Number) as [number, number];
  return `${ms}-${number + 1}`;
}
