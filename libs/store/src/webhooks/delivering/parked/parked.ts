import { createHash } from 'node:crypto';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { Breaker } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS, type WebhookId } from '@gateway/contracts/webhooks/webhook';
import { defineScript, mixed, number, type ScriptArgument } from '../../../core/scripts/define-script.js';
import { nothing } from '../../../core/scripts/replies.js';
import type { Store } from '../../../core/store.js';

/** An event that is put aside, or a change of `messages.updated`: where it is found again. */
export interface ParkedEvent {
  /** Of the log. */
  entry: string;
  /** `parkedId` of the event, or of the change. */
  id: string;
  type: string;
  /** Of a change: these can be told together. What is told alone has none here, whatever its entry is about. */
  device?: string;
  /** Of such a change: it is not told alone in the place of this. */
  isTwice?: true;
  /** Of such a change: before this it is told alone, or was, or is put aside. The version before did not write it. */
  isSecond?: true;
}

/** So long are all ids but those that a phone chose, which may have four times as many characters. */
const MAX_ID_CHARACTERS = 100;

/** The id by which an event is found again that is put aside: its own, or if that is long a digest of it. */
export function parkedId(id: string): string {
  if (id.length <= MAX_ID_CHARACTERS) return id;
  return `evt_${createHash('sha256').update(id).digest('hex')}`;
}

/** The failures of an event that was refused alone, or of a request without an answer. */
export interface ParkedClock extends Breaker {
  /** Of HTTP. */
  lastStatus?: number;
  whole?: Whole;
  /** It is not tried again by itself; at this time the log has it no more. */
  endsMs?: number;
}

/** What is first of a key was in one request with what is first of others, and may have been taken: it comes again as it was. */
export interface Whole {
  /** The `webhook-id`. */
  id: string;
  /** In that request, of one event after the other. */
  places: readonly number[];
  /** It was refused before it may have been taken: once it is refused again, its recipients are told apart. */
  wasRefused?: true;
  /** The one of its keys whose line names all of them. It may have gone meanwhile, or have been written by the version before. */
  lead?: string;
  /** Of the lead. */
  keys?: readonly string[];
}

/** What is put aside for one recipient, or one writer; in order. */
export interface Parked {
  key: string;
  /** Of the first event; empty while it was not refused alone. */
  clock: ParkedClock;
  events: ParkedEvent[];
}

/** What is posted next of what is put aside. */
export type ParkedClaim =
  /** The first so many events of each key. */
  | { keys: readonly (readonly [key: string, count: number])[]; silences?: number }
  /** That so many are lost. */
  | { lost: number; atMs: number };

/** That so many are lost, as it was posted: it comes again as it was, on a clock of its own. */
export interface ParkedGap {
  lost: number;
  atMs: number;
  failures: number;
  nextAttemptMs: number;
}

export interface ParkedState {
  claim?: ParkedClaim;
  /** It failed. The version before does not know it, and tells what is lost at another time. */
  gap?: ParkedGap;
  /** No more than so many keys at a time: more were refused. */
  most?: number;
  /** In a row, of what was not refused alone before. */
  refusals?: number;
  notBeforeMs?: number;
}

export type ParkedChange =
  | { what: 'add'; key: string; event: ParkedEvent }
  /** The first ones of this key: they were told, or cannot be told. */
  | { what: 'drop'; key: string; count: number }
  /** How many events are lost and were not told: more, or fewer. */
  | { what: 'lose'; count: number }
  | { what: 'wait'; key: string; clock: ParkedClock };

/** All people of a workspace change their minds in one order, as many may in one event: so these are as many as those of all others. */
const isOfMany = ({ type }: ParkedEvent) => type.startsWith('optout.');

/** For change-parked.lua. */
export function toArguments(change: ParkedChange): ScriptArgument[] {
  switch (change.what) {
    case 'add':
      return [isOfMany(change.event) ? 'add of many' : 'add', change.key, JSON.stringify(change.event)];
    case 'drop':
      return ['drop', change.key, change.count];
    case 'lose':
      return ['lose', '', change.count];
    case 'wait':
      return [change.clock.nextAttemptMs ?? change.clock.endsMs ?? 'inf', change.key, JSON.stringify(change.clock)];
  }
}

/** Which of these keys have something that is put aside. */
export async function findParkedKeys(
  store: Store,
  { workspace, id }: { workspace: Workspace; id: WebhookId },
  keys: readonly string[],
): Promise<Set<string>> {
  if (keys.length === 0) return new Set();
  const found = await store.redis.zmscore(workspaceKeys(store.space, workspace).webhookParkedSince(id), ...keys);
  return new Set(keys.filter((_, i) => found[i] !== null));
}

/** How many of the first events of each key are asked for. */
type Wanted = readonly (readonly [key: string, most: number])[];

/** With how many events it has; of those only the first ones that were asked for are here. */
type ParkedPart = Parked & { count: number };

const readStep = defineScript({
  name: 'read-parked',
  whenFull: 'runs',
  keys: ['parked'],
  args: { together: number, '...wanted': mixed },
  reply: (reply) =>
    (reply as [key: string, clock: string, count: number, ...events: string[]][]).map(
      ([key, clock, count, ...events]): ParkedPart => {
        return { key, count, clock: JSON.parse(clock), events: events.map((event) => JSON.parse(event)) };
      },
    ),
});

/** In the order of the keys, and until there are so many events together; those that are gone are left out. */
async function readParts(
  store: Store,
  { workspace, id }: { workspace: Workspace; id: WebhookId },
  wanted: Wanted,
  together: number = WEBHOOK_LIMITS.maxParked,
): Promise<ParkedPart[]> {
  if (wanted.length === 0) return [];
  const parked = workspaceKeys(store.space, workspace).webhookParked(id);
  return readStep(store, { parked, together, wanted: wanted.flat() });
}

const endWaitsStep = defineScript({
  name: 'end-long-waits',
  whenFull: 'runs',
  keys: ['parked', 'due'],
  args: { nowMs: number, longestMs: number },
  reply: nothing,
});

/** What would wait beyond a time is due now; what was given up keeps its time. Safe to repeat. */
export async function endLongWaits(
  store: Store,
  place: { workspace: Workspace; id: WebhookId },
  { nowMs, longestMs }: { nowMs: number; longestMs: number },
): Promise<void> {
  const { parked, due } = parkedKeys(store, place.workspace, place.id);
  await endWaitsStep(store, { parked, due, nowMs, longestMs });
}

/** What is due, the longest first: at most so many keys, and as many events as one request may have, or a few more. */
export async function readDue(
  store: Store,
  place: { workspace: Workspace; id: WebhookId },
  { nowMs, most }: { nowMs: number; most: number },
): Promise<Parked[]> {
  const { due } = parkedKeys(store, place.workspace, place.id);
  const keys = await store.redis.zrangebyscore(due, '-inf', nowMs, 'LIMIT', 0, most);
  const { maxChanges } = WEBHOOK_LIMITS;
  const wanted = keys.map((key) => [key, maxChanges] as const);
  return (await readParts(store, place, wanted, maxChanges)).map(({ count: _, ...parked }) => parked);
}

/** In the order of the keys; those that are gone are left out. @param mostOf of the first events of a key; default: all. */
export async function readParked(
  store: Store,
  place: { workspace: Workspace; id: WebhookId },
  keys: readonly string[],
  mostOf: ReadonlyMap<string, number> = new Map(),
): Promise<Parked[]> {
  const wanted = keys.map((key) => [key, mostOf.get(key) ?? WEBHOOK_LIMITS.maxParked] as const);
  return (await readParts(store, place, wanted)).map(({ count: _, ...parked }) => parked);
}

/** In `listParked`. */
export interface ParkedPlace {
  sinceMs: number;
  key: string;
}

/** As callers name a place. */
export const sayParkedPlace = ({ sinceMs, key }: ParkedPlace) => `${Math.trunc(sinceMs)}.${key}`;

/** `undefined` for what names none. */
export function parseParkedPlace(text: string): ParkedPlace | undefined {
  const [, sinceMs, key] = /^(\d{1,15})\.([A-Za-z0-9_-]{1,40})$/.exec(text) ?? [];
  return key === undefined ? undefined : { sinceMs: Number(sinceMs), key };
}

const AT_ONCE = 500;

/** One page, those first that have been there for longest. @param after the last one of the page before. @param ofEach so many of its first events; default: all. */
export async function listParked(
  store: Store,
  { workspace, id }: { workspace: Workspace; id: WebhookId },
  {
    after,
    limit,
    ofEach = WEBHOOK_LIMITS.maxParked,
  }: { after?: ParkedPlace | undefined; limit: number; ofEach?: number },
): Promise<(ParkedPart & ParkedPlace & { dueMs: number | null })[]> {
  const { since, due } = parkedKeys(store, workspace, id);
  const places: ParkedPlace[] = [];
  let start = after ? await store.redis.zcount(since, '-inf', `(${after.sinceMs}`) : 0;
  for (let isLast = false; !isLast && places.length < limit; start += AT_ONCE) {
    const rows = await store.redis.zrange(since, `${start}`, `${start + AT_ONCE - 1}`, 'WITHSCORES');
    for (let i = 0; i < rows.length; i += 2) {
      const place = { key: rows[i]!, sinceMs: Number(rows[i + 1]) };
      if (!after || comparePlaces(place, after) > 0) places.push(place);
    }
    isLast = rows.length < 2 * AT_ONCE;
  }
  const page = places.slice(0, limit);
  const keys = page.map(({ key }) => key);
  const parked = await readParts(
    store,
    { workspace, id },
    keys.map((key) => [key, ofEach]),
  );
  const times = keys.length > 0 ? await store.redis.zmscore(due, ...keys) : [];
  const found = new Map(parked.map((each) => [each.key, each]));
  return page.flatMap((place, i) => {
    const each = found.get(place.key);
    if (!each) return [];
    const dueMs = Number(times[i] ?? 'Infinity');
    // What ends is not tried again.
    const isTried = Number.isFinite(dueMs) && dueMs !== each.clock.endsMs;
    return [{ ...each, ...place, dueMs: isTried ? dueMs : null }];
  });
}

/** All that was in one request without an answer. What is put aside beside it is looked through only where its lead is gone. */
export async function findWhole(
  store: Store,
  place: { workspace: Workspace; id: WebhookId },
  whole: Whole,
): Promise<Parked[]> {
  const isOfIt = ({ clock }: Parked) => clock.whole?.id === whole.id;
  const [lead] = whole.lead === undefined ? [] : await readParts(store, place, [[whole.lead, 0]]);
  const keys = lead && isOfIt(lead) && lead.clock.whole?.keys;
  if (keys) {
    return (
      await readParts(
        store,
        place,
        keys.map((key) => [key, 0]),
      )
    ).filter(isOfIt);
  }
  const found: Parked[] = [];
  for (let after: ParkedPlace | undefined; ; ) {
    const page = await listParked(store, place, { after, limit: AT_ONCE, ofEach: 0 });
    found.push(...page.filter(isOfIt));
    after = page.at(-1);
    if (!after) return found;
  }
}

/** As Redis sorts them: keys are ASCII. */
function comparePlaces(one: ParkedPlace, other: ParkedPlace): number {
  if (one.sinceMs !== other.sinceMs || one.key === other.key) return one.sinceMs - other.sinceMs;
  return one.key < other.key ? -1 : 1;
}

/** The keys of events with these ids. */
export async function findParked(
  store: Store,
  place: { workspace: Workspace; id: WebhookId },
  ids: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const idOf = new Map([...ids].map((id) => [parkedId(id), id]));
  for (let after: ParkedPlace | undefined; found.size < idOf.size; ) {
    const page = await listParked(store, place, { after, limit: AT_ONCE });
    for (const { key, events } of page) {
      for (const event of events) {
        const id = idOf.get(parkedId(event.id));
        if (id !== undefined) found.set(id, key);
      }
    }
    after = page.at(-1);
    if (!after) break;
  }
  return found;
}

export function parkedKeys(store: Store, workspace: Workspace, id: WebhookId) {
  const keys = workspaceKeys(store.space, workspace);
  return {
    ...{ webhook: keys.webhook(id), parked: keys.webhookParked(id) },
    ...{ due: keys.webhookParkedDue(id), since: keys.webhookParkedSince(id) },
    replays: keys.webhookReplays(id),
  };
}
