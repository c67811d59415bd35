import { compareCursors } from '@gateway/contracts/events/cursor';
import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import type { LaneClaim, Probe } from '@gateway/store/webhooks/delivering/lanes';
import { manyFor } from './failing-claims.js';
import type { Told } from './feed.js';
import {
  findNext,
  isTogether,
  keysOf,
  type LaneWork,
  namesOf,
  pickFar,
  placeOf,
  toldBy,
  whatFollows,
} from './lane-work.js';

/** Without waiting: for what is there already, and what comes later. */
export const EARLY_PROBES = 3;
/** A probe is looked for in so many requests behind the one that fails, each of changes that are told together. */
const PROBE_REQUESTS = 20;
/** In so many events that are told alone: what is passed is told one by one. */
const PROBE_EVENTS = 500;
/** And in so many entries of the log that tell it nothing. */
const PROBE_ENTRIES = 40_000;
/** So many events are passed, by one probe after the other: the next ones may be such, too. */
const REACH = [0, 8, 80, 242, PROBE_EVENTS - 1];
/** Where so many wait the claim has its turns all the same: after an outage what is passed is told one by one. */
const MANY_BEHIND = 100;

/** It was answered too seldom to say that it is refused. */
const isSilent = (claim: LaneClaim): boolean => claim.refusals < manyFor(claim);

/** A request that may have been taken is told as it was, or not at all: in parts it would come under other ids. */
export const mustStayWhole = (claim: LaneClaim): boolean => isSilent(claim) || claim.mayBeTaken === true;

/** The first two are tried again, and no further ones: in an outage each would have an id of its own. */
const insideOf = (probes: number): number =>
  probes < EARLY_PROBES ? probes : 1 + ((probes >> 1) % (EARLY_PROBES - 1));

/** What comes behind a claim in one request. */
interface Behind {
  to: string;
  type: string;
  isTogether: boolean;
  /** Who is left out, and all of them if it is passed. */
  leftOut: readonly string[];
  all: readonly string[];
  isPassable: boolean;
}

/**
 * What was not tried yet: the next request in which something is not about those that the failed one is about, or for whom something is put
 * aside; then an event of another type, as it may be that all of one type are refused, or one further behind. If nothing has come behind it, or
 * that was refused just now, some recipient of the refused one, far from the former. @param again what was tried before, if there is nothing else.
 * @param isEarly it is looked for again and again.
 */
export async function findProbe(
  work: LaneWork,
  claim: LaneClaim,
  { isEarly, again }: { isEarly: boolean; again: boolean },
): Promise<Probe | undefined> {
  const failed = await toldBy(work, claim);
  const refused = keysOf(work, failed);
  const { probes = 0, tried } = claim;
  // Events that are told alone have the same ids whichever of them are told.
  const mayDivide = refused.length > 1 && !(mustStayWhole(claim) && isTogether(failed));
  // All that is there may have failed already: one is kept for what comes later.
  const isLast = claim.isDoubted && isEarly && (claim.early ?? 0) === EARLY_PROBES - 1;
  const inside = mayDivide && !isLast ? { only: pickFar(refused, insideOf(probes)) } : undefined;
  // Later by turns, as all that comes behind it may be refused for another reason.
  if (inside && probes > 0 && (probes < EARLY_PROBES || (!isEarly && probes % 2 === 1))) return inside;
  const isNew = ({ to }: Behind) => tried === undefined || compareCursors(to, tried) > 0;
  const isEnough = (each: Behind) => isNew(each) && (probes === 0 || each.isTogether);
  const news = isEarly ? await findNews(work, claim) : undefined;
  const behind = isEarly && !news ? [] : await lookBehind(work, { claim, refused, isEnough });
  if (!isEarly && !again && behind.length >= MANY_BEHIND) return undefined;
  const types = new Set(failed.map(({ parks }) => parks.type));
  for (const each of behind) if (!isNew(each)) types.add(each.type);
  const passable = behind.filter(({ isPassable }) => isPassable);
  const fresh = passable.filter(isNew);
  const isFar = (each: Behind) => passable.indexOf(each) >= REACH[probes % REACH.length]!;
  const other = probes > 0 ? fresh.find(({ type }) => !types.has(type)) : undefined;
  const chosen =
    other ?? fresh.find(isFar) ?? fresh.at(-1) ?? (again ? (passable.find(isFar) ?? passable.at(-1)) : undefined);
  if (!chosen) {
    for (const to of [news, behind.at(-1)?.to]) if (to !== undefined) noteNoNews(work, claim, to);
    return again || probes === 0 ? inside : undefined;
  }
  const passed = behind.slice(0, behind.indexOf(chosen)).flatMap(({ all }) => all);
  return { to: chosen.to, without: [...new Set([...passed, ...chosen.leftOut])] };
}

/** Where what was looked at last, in vain, ends. */
const newsPlace = (work: LaneWork, { to, tried = to }: LaneClaim): string =>
  `${placeOf(work, to)}/${work.webhook.revision}/${tried}`;

function noteNoNews(work: LaneWork, claim: LaneClaim, to: string, entries = 0): void {
  const { posted } = work.deps;
  const known = posted.passed(newsPlace(work, claim));
  if (known && compareCursors(known.to, to) >= 0) return;
  posted.notePassed(newsPlace(work, claim), { to, entries: (known?.entries ?? 0) + entries });
}

/** Behind what was tried, where it ends: so not all of that is read again whenever something happens to others. */
async function findNews(work: LaneWork, claim: LaneClaim): Promise<string | undefined> {
  const most = work.taken.lanes[work.lane].most ?? WEBHOOK_LIMITS.maxChanges;
  for (;;) {
    const known = work.deps.posted.passed(newsPlace(work, claim)) ?? { to: claim.tried ?? claim.to, entries: 0 };
    if (known.entries >= PROBE_ENTRIES) return undefined;
    const found = await findNext(work, { after: known.to, most });
    if (typeof found !== 'object') return undefined;
    if (found.told.length > 0) return found.to;
    noteNoNews(work, claim, found.to, found.entries);
  }
}

/** In the order of the log, up to what is enough. Each is seen as if all before it were passed. */
async function lookBehind(
  work: LaneWork,
  { claim, refused, isEnough }: { claim: LaneClaim; refused: readonly string[]; isEnough(each: Behind): boolean },
): Promise<Behind[]> {
  const { deps, webhook, taken, lane, source } = work;
  // Not what is told itself: what people wrote may be long.
  const behind: Behind[] = [];
  const passed = new Set(refused);
  const most = taken.lanes[lane].most ?? WEBHOOK_LIMITS.maxChanges;
  const place = `${placeOf(work, claim.to)}/${webhook.revision}`;
  let { to: after, entries } = deps.posted.passed(place) ?? { to: claim.to, entries: 0 };
  let [requests, events] = [0, 0];
  while (requests < PROBE_REQUESTS && events < PROBE_EVENTS && entries < PROBE_ENTRIES) {
    const isFirst = !claim.probes && behind.length === 0;
    const found = await findNext(work, { after, most, alone: isFirst ? 1 : PROBE_EVENTS - events });
    if (typeof found !== 'object') break;
    const { to, told } = found;
    entries += found.entries;
    if (told.length === 0 && behind.length === 0) deps.posted.notePassed(place, { to, entries });
    const following = taken.hasParked ? await whatFollows(work, told) : [];
    for (const key of keysOf(work, following)) passed.add(key);
    const areTogether = isTogether(told);
    if (told.length === 0 || areTogether) requests++;
    else events += told.length;
    for (const part of areTogether ? [told] : byPlace(told)) {
      const leftOut = part.filter((each) => passed.has(deps.feed.keyOf(source, each)));
      const each: Behind = {
        to: areTogether ? to : part[0]!.to,
        type: part[0]!.parks.type,
        isTogether: areTogether,
        ...{ leftOut: namesOf(work, leftOut), all: namesOf(work, part), isPassable: leftOut.length < part.length },
      };
      behind.push(each);
      if (each.isPassable && isEnough(each)) return behind;
      for (const key of keysOf(work, part)) passed.add(key);
    }
    after = to;
  }
  return behind;
}

/** What cannot be told without each other. */
function byPlace(told: readonly Told[]): Told[][] {
  const parts: Told[][] = [];
  for (const each of told) {
    const last = parts.at(-1);
    if (last && last[0]!.to === each.to) last.push(each);
    else parts.push([each]);
  }
  return parts;
}
