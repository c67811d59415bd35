import { compareCursors, parseCursor } from '@gateway/contracts/events/cursor';
import { allShardsIn, narrowed, type ShardFilter } from '@gateway/contracts/shards';
import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import { UPDATED } from '@gateway/store/events/reading/change-shapes';
import { claimDelivery } from '@gateway/store/webhooks/delivering/deliveries';
import type { LaneClaim, LaneState, TellLane } from '@gateway/store/webhooks/delivering/lanes';
import { findParked, findParkedKeys, type ParkedChange } from '@gateway/store/webhooks/delivering/parked/parked';
import type { FeedRange, Told, ToldWebhook } from './feed.js';
import { tellsChanges } from './log/look-ahead.js';
import { type PostedTold, postTold } from './post-told.js';
import type { Work } from './work.js';

/** One lane. `source`: how it is read; a request that is replayed as it was is read as then. */
export interface LaneWork extends Work {
  webhook: ToldWebhook;
  lane: TellLane;
  source: TellLane;
}

export function inLane(work: Work, lane: TellLane): LaneWork {
  const { webhook, taken } = work;
  const { replay } = taken;
  if (lane !== 'replay' || !replay) {
    const shards = shardsTold(taken.lanes[lane]);
    return { ...work, webhook: shards ? { ...webhook, shards } : webhook, lane, source: lane };
  }
  const { times, shards: ofRequest } = 'request' in replay ? replay.request : { ...replay, shards: undefined };
  const shards = narrowed(ofRequest, shardsTold(taken.lanes.replay));
  const source = 'request' in replay ? replay.request.lane : lane;
  const told = { ...webhook, ...(times && { times }), ...(shards && { shards }) };
  return { ...work, webhook: told, lane, source };
}

function shardsTold({ held, catchesUp }: LaneState): ShardFilter | undefined {
  if (catchesUp) return { only: catchesUp.shards };
  return held && { without: allShardsIn(held) };
}

/** Where the next request ends; that of a replay, or of what was passed, at the end of it. */
async function findEnd(work: LaneWork, range: FeedRange) {
  const { deps, webhook, taken, lane, source } = work;
  const { asked } = taken.lanes[lane];
  const last = endOf(work);
  if (last === undefined) return deps.feed.findEnd(webhook, source, { ...range, asked });
  if (compareCursors(range.after, last) >= 0) return undefined;
  const found = await deps.feed.findEnd(webhook, source, { ...range, asked, upTo: last });
  return typeof found !== 'object' || compareCursors(found.to, last) > 0 ? { to: last } : found;
}

function endOf({ taken: { lanes, replay }, lane }: LaneWork): string | undefined {
  const { catchesUp } = lanes[lane];
  if (lane !== 'replay' || !replay || catchesUp) return catchesUp?.to;
  return 'request' in replay ? replay.request.to : replay.to;
}

/** What is told in the next request, and where that ends. Where much lies in between each waits for its turn. @param cut may end it earlier. */
export function findNext(work: LaneWork, range: FeedRange, cut = (to: string) => to) {
  const { deps, webhook, taken, lane, source } = work;
  return deps.longWays.look({ workspace: taken.workspace, lane, known: deps.known }, async () => {
    const found = await findEnd(work, range);
    if (typeof found !== 'object') return found;
    const to = cut(found.to);
    const told = await deps.feed.read(webhook, source, { after: range.after, to, asked: taken.lanes[lane].asked });
    return { to, told, entries: found.entries ?? 0 };
  });
}

/** What asks for other types later is told the rest of an entry by what was asked for until there. */
export function moveTo({ webhook }: LaneWork, state: LaneState, to: string): LaneState {
  const { asked: former, ...rest } = state;
  const { entry, offset } = parseCursor(to)!;
  if (offset === 0) return { ...rest, cursor: to };
  const types = webhook.settings.types.filter(tellsChanges);
  const passed = (former ?? []).filter((part) => parseCursor(part.to)!.entry === entry);
  if (passed.at(-1)?.types.join() === types.join()) passed.pop();
  return { ...rest, cursor: to, asked: [...passed, { to, types }] };
}

/** What asks for other types, or passes something, is told something else from there on. */
export const placeOf = ({ webhook, taken: { workspace, id }, lane }: LaneWork, after: string) =>
  `${workspace}/${id}/${lane}/${after} ${webhook.settings.types.join()} ${JSON.stringify(webhook.shards ?? '')}`;

/** What of the log it reads: a request that is replayed is read in the same way. */
export const sourceOf = ({ webhook: { times, shards }, source }: LaneWork) => ({
  lane: source,
  ...(times && { times }),
  ...(shards && { shards }),
});

/** Under which it is put aside. What is told once more holds up nothing that happens since, so it has the key of its own lane, however it is read. */
export const asideKeyOf = ({ deps, lane }: LaneWork, told: Told): string => deps.feed.keyOf(lane, told);

/** Events of those for whom something is put aside. */
export async function whatFollows(work: LaneWork, told: readonly Told[]): Promise<Told[]> {
  await followForgotten(work, told);
  const keys = new Set(told.map((each) => asideKeyOf(work, each)));
  const parked = await findParkedKeys(work.deps.store, work.taken, [...keys]);
  return told.filter((each) => parked.has(asideKeyOf(work, each)));
}

/** What was put aside of a recipient before they were forgotten has a key that cannot be made any more: what comes behind it gets the same. */
async function followForgotten({ deps, taken, lane }: LaneWork, told: readonly Told[]): Promise<void> {
  if (lane === 'replay') return;
  const forgotten = told
    .map((each) => ({ each, ids: deps.feed.idsOfForgotten(each) }))
    .filter(({ ids }) => ids.length > 0);
  if (forgotten.length === 0) return;
  const found = await findParked(deps.store, taken, new Set(forgotten.flatMap(({ ids }) => ids)));
  for (const { each, ids } of forgotten) {
    const known = ids.find((id) => found.has(id));
    if (known !== undefined) deps.feed.setKey(lane, each, found.get(known)!);
  }
}

export const isTogether = (told: readonly Told[]): boolean => told[0]?.parks.device !== undefined;

/** What was claimed to be told together has something else in it since a send is gone: that there is a gap. */
function firstRequest(told: Told[]): Told[] {
  const areRows = isTogether(told);
  const end = told.findIndex(({ parks }) => (parks.device !== undefined) !== areRows);
  return end === -1 ? told : told.slice(0, end);
}

/** What of a claim is one request, and what is told after it. */
export interface Part {
  told: readonly Told[];
  left: readonly Told[];
}

/** A recipient who is left out by name has more of the claim coming: it was one request when it was claimed. */
export function parkRest(work: LaneWork, told: readonly Told[], left: readonly Told[]): ParkedChange[] {
  if (left.length === 0) return [];
  const keys = new Set(keysOf(work, told));
  return parkAll(
    work,
    left.filter((each) => keys.has(work.deps.feed.keyOf(work.source, each))),
  );
}

/** Then a place in the log says how far one is; otherwise whom they are about. */
export function endsBefore({ told, left }: Part): boolean {
  const end = told.at(-1)!.to;
  return left.every(({ to }) => compareCursors(to, end) > 0);
}

/** What is posted first of a claim: changes that are more than the endpoint takes are told in parts. */
export function partOf(
  work: LaneWork,
  { most = WEBHOOK_LIMITS.maxChanges }: Pick<LaneClaim, 'most'>,
  told: Told[],
): Told[] {
  const first = firstRequest(told);
  if (!isTogether(first) || first.length <= most) return first;
  const end = first.findIndex(({ to }, i) => to === first[most]!.to && to !== first[i - 1]?.to);
  return end > 0 ? first.slice(0, end) : ofFirstPeople(work, first, most);
}

/** All that is about the first ones: what is told is remembered by whom it is about. It is more than `most` only where it is about one. */
function ofFirstPeople({ deps, source }: LaneWork, told: Told[], most: number): Told[] {
  const counts = new Map<string, number>();
  for (const each of told) {
    const key = deps.feed.keyOf(source, each);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const chosen = new Set<string>();
  let left = most;
  for (const [key, count] of counts) {
    left -= count;
    if (left < 0 && chosen.size > 0) break;
    chosen.add(key);
  }
  return told.filter((each) => chosen.has(deps.feed.keyOf(source, each)));
}

export function postIn(work: LaneWork, told: readonly Told[]): Promise<PostedTold | undefined> {
  const { deps, lane, source } = work;
  return postTold(work, told, {
    keyOf: (each) => deps.feed.keyOf(source, each),
    onTaken: ([first], { atMs, lostContent }, nowMs) => {
      // It may have been told before.
      if (lane === 'replay') return;
      deps.counts.observeTold(lane, nowMs - atMs);
      if (first?.gap) deps.counts.countGap(first.gap);
      if (lostContent) deps.counts.countLostContent();
    },
  });
}

export async function toldBy(work: LaneWork, claim: LaneClaim): Promise<Told[]> {
  const { cursor, asked } = work.taken.lanes[work.lane];
  const told = await work.deps.feed.read(work.webhook, work.source, { after: cursor, to: claim.to, asked });
  return leaveOut(work, { told, without: claim.without });
}

export function leaveOut(
  { deps, source }: LaneWork,
  { told, without }: { told: Told[]; without: readonly string[] | undefined },
): Told[] {
  if (!without || without.length === 0) return told;
  const keys = new Set(without);
  return told.filter((each) => !keys.has(deps.feed.keyOf(source, each)));
}

/** The keys of what a claim leaves out, and those that it has once a person is forgotten. */
export function namesOf(work: LaneWork, told: readonly Told[]): string[] {
  const { deps, source } = work;
  return [...new Set([...keysOf(work, told), ...told.map((each) => deps.feed.keyOfForgotten(source, each))])];
}

/** For whom a claim is, and who is left out of it: all else of them that it would tell is put aside, or was told. */
export const leavingOut = (
  { webhook }: LaneWork,
  without: readonly string[],
): Pick<LaneClaim, 'without' | 'types'> => ({
  types: webhook.settings.types,
  ...(without.length > 0 && { without }),
});

const isOfOtherTypes = ({ webhook }: LaneWork, { types }: LaneClaim): boolean =>
  types !== undefined && types.join() !== webhook.settings.types.join();

/**
 * Its endpoint asks for other changes since, and is in the middle of an entry of which something may be owed: what is left of that may be
 * told at once then, and not end there. The version before did not always write what a claim was made for.
 */
export function endsOtherwise({ webhook, taken, lane }: LaneWork, claim: LaneClaim): boolean {
  const { cursor, asked = [] } = taken.lanes[lane];
  const [from, to] = [parseCursor(cursor)!, parseCursor(claim.to)!];
  if (from.offset === 0 || from.entry !== to.entry) return false;
  const parts = asked.filter((part) => parseCursor(part.to)!.entry === from.entry);
  const former = claim.types ?? parts.at(-1)?.types ?? [];
  const changesIn = (types: readonly string[]) => types.filter(tellsChanges).join();
  return parts.some(({ types }) => asksBothWays(types)) && changesIn(former) !== changesIn(webhook.settings.types);
}

const asksBothWays = (types: readonly string[]) =>
  types.includes(UPDATED) && types.some((type) => type !== UPDATED && tellsChanges(type));

export function keysOf({ deps, source }: LaneWork, told: readonly Told[]): string[] {
  return [...new Set(told.map((each) => deps.feed.keyOf(source, each)))];
}

export function parkAll(work: LaneWork, told: readonly Told[]): ParkedChange[] {
  return told.map((each) => ({ what: 'add', key: asideKeyOf(work, each), event: each.parks }));
}

/**
 * Where its endpoint asks for other types since, a claim in the middle of what one step has changed tells of more than when it was made. What
 * of that is about those whom it leaves out, or for whom something is put aside, comes behind what they were told, or are to be told first.
 * `false`: this process delivers to it no more.
 */
export async function putAsideAnew(work: LaneWork, claim: LaneClaim): Promise<boolean> {
  const { deps, webhook, taken, lane, source } = work;
  const hasOtherTypes = isOfOtherTypes(work, claim);
  // It was looked at when it was posted last.
  const isNew = claim.failedAs !== taken.revision;
  const mayFollow = taken.hasParked && isNew;
  const mayPass = isNew && claim.probe && 'to' in claim.probe ? claim.probe : undefined;
  if (!hasOtherTypes && !mayFollow && !mayPass) return true;
  const { cursor, asked } = taken.lanes[lane];
  const range = { after: cursor, to: claim.to, asked };
  const all = await deps.feed.read(webhook, source, range);
  const without = claim.without ?? [];
  const aside = new Set(taken.hasParked ? await whatFollows(work, leaveOut(work, { told: all, without })) : []);
  const follows = namesOf(work, [...aside]);
  const isLeftOut = (each: Told) => keysOf(work, [each]).some((key) => without.includes(key));
  if (hasOtherTypes) {
    const former = { ...webhook, settings: { ...webhook.settings, types: claim.types! } };
    const known = new Set((await deps.feed.read(former, source, range)).map(({ parks }) => parks.id));
    for (const each of all) if (isLeftOut(each) && !known.has(each.parks.id)) aside.add(each);
  }
  // Whom the claim leaves out was told, or is put aside: a probe that may have been taken has what follows for them.
  const claimed = hasOtherTypes ? all : all.filter((each) => aside.has(each) || !isLeftOut(each));
  const passed = mayPass && [...new Set([...(mayPass.without ?? []), ...namesOf(work, claimed)])];
  const isPassed = passed !== undefined && passed.length > (mayPass!.without ?? []).length;
  if (!hasOtherTypes && aside.size === 0 && !isPassed) return true;
  const probe = isPassed && { probe: { ...mayPass!, without: passed } };
  const state = { ...taken.lanes[lane], claim: { ...claim, ...leavingOut(work, [...without, ...follows]), ...probe } };
  const changes = parkAll(
    work,
    all.filter((each) => aside.has(each)),
  );
  return claimDelivery(deps.store, taken, { lane, state, changes, nowMs: deps.clock.nowMs() });
}

const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/** The place of each is far from those of the others, however many are picked. */
export function pickFar<T>(from: readonly T[], number: number): T {
  return from[Math.floor((((number + 1) * GOLDEN_RATIO) % 1) * from.length)]!;
}
