import { comparePlaces, type LogPlace } from '@gateway/contracts/events/cursor';
import type { Workspace } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import { type OutlinedEntry, outlineLog } from '@gateway/store/events/read-log';
import { UPDATED } from '@gateway/store/events/reading/change-shapes';
import type { AskedUpTo, TellLane } from '@gateway/store/webhooks/delivering/lanes';
import type { ToldWebhook } from '../feed.js';

export interface Reading {
  store: Store;
  workspace: Workspace;
  clock: Clock;
  passed: PassedEntries;
  reads: LookReads;
}

/** Lanes that are at the same place, and are looked at in one turn of the event loop, read it together. */
type LookReads = Map<string, ReturnType<typeof outlineLog>>;

/** Where a lane of an endpoint is. */
export interface LanePlace {
  webhook: ToldWebhook;
  lane: TellLane;
  after: LogPlace;
  asked: readonly AskedUpTo[];
}

/** By lane of an endpoint. */
type PassedEntries = Map<TellLane, Passed>;

/** What is in the log behind a place of a lane, up to an entry, and is not told yet, or not there. */
interface Passed {
  /** Of the endpoint: with other settings it may be told. */
  revision: string;
  after: LogPlace;
  upTo: string;
  entries: number;
  /** Of the first of them. */
  sinceMs: number;
  /** Of lists. */
  changes: number;
  /** Of the first that tells of a list. */
  gatheredSinceMs?: number;
}

/** Until then there is nothing to tell, unless more comes. */
export interface Waiting {
  dueMs: number;
}

/** How many entries that are for others, or how old the first of them, until it is written down that they were seen. */
export const UNWRITTEN = { entries: 1_000, ms: 5_000 };
/** Clocks of machines differ by less: what is further ahead was written before one of them was set back. */
const MOST_AHEAD_MS = 5_000;
/** A change of a list that is an event of its own. */
const TOLD_ALONE = /^message\.(?!received)/;
export const tellsChanges = (type: string): boolean => type === UPDATED || TOLD_ALONE.test(type);

/**
 * Whether there is nothing to tell yet, without making events of what there is: a lane is looked at again and again, and each entry once.
 * `quiet`: there is nothing. `undefined`: that is not known without a closer look, or it is time.
 */
export async function lookAhead(
  reading: Reading,
  { webhook, lane, after, most }: LanePlace & { most: number },
): Promise<Waiting | 'quiet' | undefined> {
  if (lane === 'replay' || (webhook.shards && 'only' in webhook.shards)) return undefined;
  const { clock, passed } = reading;
  const { settings, revision } = webhook;
  const known = passed.get(lane);
  const isKnown = known !== undefined && known.revision === revision && comparePlaces(known.after, after) === 0;
  const seen: Passed = isKnown
    ? known
    : { ...{ revision, after, upTo: after.entry }, ...{ entries: 0, sinceMs: 0, changes: 0 } };
  passed.delete(lane);
  const found = await readOnce(reading, seen.upTo, most);
  if ('oldest' in found || !found.isLast) return undefined;
  const isGathered = lane === 'lists' && !settings.types.some((type) => TOLD_ALONE.test(type));
  for (const entry of found.entries) {
    if (entry.class === lane && (!isGathered || entry.changes === undefined)) return undefined;
    pass(seen, entry, lane);
  }
  if (seen.entries === 0) return 'quiet';
  const { entries, changes, gatheredSinceMs } = seen;
  if (gatheredSinceMs === undefined ? entries >= UNWRITTEN.entries : changes >= most) return undefined;
  const dueMs =
    gatheredSinceMs === undefined
      ? dueAfter(seen.sinceMs, UNWRITTEN.ms, clock)
      : dueAfter(gatheredSinceMs, settings.gatherSeconds * 1000, clock);
  if (clock.nowMs() >= dueMs) return undefined;
  passed.set(lane, seen);
  return { dueMs };
}

/** When what waits for so long is to be told: at once where the time since when it waits is still to come. */
export function dueAfter(sinceMs: number, waitMs: number, clock: Clock): number {
  const nowMs = clock.nowMs();
  return sinceMs - nowMs > MOST_AHEAD_MS ? nowMs : sinceMs + waitMs;
}

function readOnce({ store, workspace, reads }: Reading, entry: string, limit: number) {
  const name = `${entry} ${limit}`;
  const known = reads.get(name);
  if (known) return known;
  const found = outlineLog(store, workspace, { entry, offset: 0 }, { limit });
  reads.set(name, found);
  // Who looks later may look for what has come since.
  queueMicrotask(() => reads.delete(name));
  return found;
}

function pass(seen: Passed, entry: OutlinedEntry, lane: TellLane): void {
  seen.upTo = entry.id;
  if (seen.entries++ === 0) seen.sinceMs = entry.atMs;
  if (entry.class !== lane) return;
  seen.gatheredSinceMs ??= entry.atMs;
  seen.changes += entry.changes ?? 0;
}
