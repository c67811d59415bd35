import type { DeviceAddress, DeviceId, SendTag, Workspace } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import type { Store } from '../../core/store.js';
import { listDevices } from '../../devices/devices.js';

/** When a send was accepted, by the clock of Redis; of no two sends of a workspace the same. */
export interface ListPlace {
  ms: number;
  sequence: number;
  shard: number;
}

/** A send that was accepted within the last eight days; its record may be gone. */
export interface ListedSend {
  address: DeviceAddress;
  tag: SendTag;
  place: ListPlace;
}

export interface ListRange {
  /** Only those of this device. */
  device?: DeviceId;
  /** Only those that were accepted from then on. */
  sinceMs?: number;
  /** Only those before. */
  before?: ListPlace;
}

const OLDEST: ListPlace = { ms: 0, sequence: 0, shard: 0 };

/** Of a shard, however many there are: one that is busier than the others is asked again. */
const LEAST_PER_SHARD = 10;

/**
 * The newest sends of a workspace, `limit` or fewer, and the place up to which there are no others, `undefined` at the end of the
 * list. One command per shard that has devices.
 */
export async function readListed(
  store: Store,
  workspace: Workspace,
  range: ListRange & { limit: number },
): Promise<{ listed: ListedSend[]; upTo: ListPlace | undefined }> {
  const { limit, device } = range;
  const shards = await shardsOf(store, workspace, device);
  // Four times its part: most shards have no more of the page than that.
  const count = 1 + Math.min(limit, Math.max(LEAST_PER_SHARD, Math.ceil((4 * limit) / shards.length)));
  const pages = await Promise.all(shards.map((shard) => readShard(store, workspace, shard, { ...range, count })));
  // A shard may have more behind the last entry that it told: nothing older is listed before that is read.
  const ends = pages.flatMap((entries) => (entries.length === count ? [entries.at(-1)!.place] : []));
  const horizon = ends.sort(newestFirst)[0] ?? OLDEST;
  const known = pages.flatMap((entries) => entries.filter(({ place }) => newestFirst(place, horizon) <= 0));
  known.sort((a, b) => newestFirst(a.place, b.place));
  const listed = known.slice(0, limit);
  const isWhole = ends.length === 0 && known.length <= limit;
  const upTo = isWhole ? undefined : (listed.at(-1)?.place ?? horizon);
  return { listed: listed.filter(({ address }) => device === undefined || address.device === device), upTo };
}

async function shardsOf(store: Store, workspace: Workspace, device: DeviceId | undefined): Promise<number[]> {
  const devices = device === undefined ? await listDevices(store, workspace) : [device];
  return [...new Set(devices.map((each) => shardOf({ workspace, device: each })))];
}

async function readShard(
  store: Store,
  workspace: Workspace,
  shard: number,
  { sinceMs = 0, before, count }: ListRange & { count: number },
): Promise<ListedSend[]> {
  const { sends } = shardKeys(store.space, shard);
  const rows = await store.redis.xrevrange(sends(workspace), idBelow(before, shard), sinceMs, 'COUNT', count);
  return rows.map(([id, [, name = '']]) => {
    const [device, tag] = name.split('/') as [string, string];
    const [ms, sequence] = id.split('-').map(Number) as [number, number];
    return { address: { workspace, device }, tag, place: { ms, sequence, shard } };
  });
}

/** What `XREVRANGE` begins with: shards of a lower number come later in the list at the same time. */
function idBelow(before: ListPlace | undefined, shard: number): string {
  if (!before) return '+';
  return `${shard < before.shard ? '' : '('}${before.ms}-${before.sequence}`;
}

function newestFirst(a: ListPlace, b: ListPlace): number {
  return b.ms - a.ms || b.sequence - a.sequence || b.shard - a.shard;
}

/** One step of Redis may read those of one shard. */
export function byShard(listed: readonly ListedSend[]): Map<number, ListedSend[]> {
  const shards = new Map<number, ListedSend[]>();
  for (const each of listed) {
    const theirs = shards.get(each.place.shard);
    if (theirs) theirs.push(each);
    else shards.set(each.place.shard, [each]);
  }
  return shards;
}
