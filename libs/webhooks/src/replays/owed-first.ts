import { compareCursors } from '@gateway/contracts/events/cursor';
import { LANES, type Lane } from '@gateway/store/webhooks/delivering/lanes';
import { findParked, findParkedKeys, type ParkedChange } from '@gateway/store/webhooks/delivering/parked/parked';
import type { Told } from '../feed.js';
import { inLane, type LaneWork } from '../lane-work.js';

/**
 * A replay of some time may have something in it that its endpoint was never told: it waits in its own lane, or is put aside. That is told
 * there first, so that of each recipient a later status is never told before an earlier one.
 */

/** Behind which place in what is replayed a lane has something to tell yet, the first of them. */
export async function owedBehind(work: LaneWork, to: string): Promise<string | undefined> {
  const places = await Promise.all(LANES.map((lane) => untoldBehind(work, lane, to)));
  return places.reduce((first, each) => (!first || (each && compareCursors(each, first) < 0) ? each : first));
}

function untoldBehind({ webhook, ...work }: LaneWork, lane: Lane, to: string): Promise<string | undefined> {
  const { times, shards: _, ...all } = webhook;
  const own = inLane({ ...work, webhook: all }, lane);
  return work.deps.feed.findUntold(own.webhook, lane, { after: work.taken.lanes[lane].cursor, to, times });
}

/**
 * Recipients for whom some of this is put aside in its own lane: all of it comes behind that.
 * @returns what is not put aside yet.
 */
export async function owedAside(
  work: LaneWork,
  told: readonly Told[],
): Promise<{ owed: Told[]; changes: ParkedChange[] }> {
  const { deps, taken, source } = work;
  const keysOf = (each: Told) => LANES.map((lane) => deps.feed.keyOf(lane, each));
  const parkedKeys = await findParkedKeys(deps.store, taken, [...new Set(told.flatMap(keysOf))]);
  const ownKeyOf = (each: Told) => keysOf(each).find((key) => parkedKeys.has(key));
  const some = told.filter((each) => ownKeyOf(each) !== undefined);
  if (some.length === 0) return { owed: [], changes: [] };
  const parked = await findParked(deps.store, taken, new Set(some.map(({ parks }) => parks.id)));
  const isParked = ({ parks }: Told) => parked.has(parks.id);
  const people = new Set(some.filter(isParked).map((each) => deps.feed.keyOf(source, each)));
  const owed = told.filter((each) => people.has(deps.feed.keyOf(source, each)));
  const others = owed.filter((each) => !isParked(each));
  return { owed, changes: others.map((each) => ({ what: 'add', key: ownKeyOf(each)!, event: each.parks })) };
}
