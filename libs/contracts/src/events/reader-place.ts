import { NO_SHARDS, type ShardSet, shardsIn } from '../shards.js';
import { type LogPlace, parseCursor, sayCursor } from './cursor.js';

/** Where one is in a log who passes what lies on a node of Redis that is away. */
export interface ReaderPlace extends LogPlace {
  /** Nothing is in two of them. */
  held?: readonly HeldPlace[];
}

/** Of these shards one has come only so far: what follows comes once their node is back. */
export interface HeldPlace extends LogPlace {
  shards: ShardSet;
}

const SHARD_SET = /^[0-9a-f]{16}$/;

/** As `parseCursor`; behind it, for each of those that are held, `~place:shards`. */
export function parseReaderCursor(text: string): ReaderPlace | undefined {
  const [own, ...others] = text.split('~');
  const place = parseCursor(own!);
  const held = others.map(parseHeld);
  const shards = held.flatMap((each) => (each ? shardsIn(each.shards) : []));
  if (!place || held.includes(undefined) || new Set(shards).size < shards.length) return undefined;
  return others.length === 0 ? place : { ...place, held: held as HeldPlace[] };
}

function parseHeld(text: string): HeldPlace | undefined {
  const [cursor, shards = '', ...more] = text.split(':');
  const place = parseCursor(cursor!);
  const isSet = SHARD_SET.test(shards) && shards !== NO_SHARDS && more.length === 0;
  return place && isSet ? { ...place, shards } : undefined;
}

export function sayReaderCursor({ held = [], ...place }: ReaderPlace): string {
  return [sayCursor(place), ...held.map(({ shards, ...at }) => `${sayCursor(at)}:${shards}`)].join('~');
}
