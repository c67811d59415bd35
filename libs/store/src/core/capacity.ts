import { setImmediate as turn } from 'node:timers/promises';
import { DEFAULT_WORKSPACE, deviceOfName, type Workspace } from '@gateway/contracts/ids';
import { deviceKeys, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { inTime } from '@gateway/runtime/clock';
import { isCluster, masterNodes, masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import type { Redis } from 'ioredis';
import { readWorkspaceLimits } from '../workspace/workspace-limits.js';
import { listWorkspaces } from '../workspace/workspaces.js';
import type { Store } from './store.js';

/** How full a node is, and how much accepted work will add there. */
export interface Room {
  /** What counts towards `maxmemory`. */
  usedBytes: number;
  /** `maxmemory`; 0 if not set. */
  limitBytes: number;
  /** Messages that wait on devices there, by workspace; not asked for where nothing limits them. */
  queuedMessages: ReadonlyMap<Workspace, number>;
}

/** Of the fullest node with data, and with what waits on all nodes. */
export interface Capacity extends Room {
  /** Bytes of the files of all workspaces, included in the used bytes. */
  fileBytes: number;
  /** Those that there are, and of which it is known what their operators allow them. */
  workspaces?: readonly Workspace[];
  /** How many messages may wait in a workspace, where its operator limits them. */
  backlogLimits?: ReadonlyMap<Workspace, number>;
  /** On a Cluster, by shard: the room of its node, one object for each node; `undefined` while that is away. */
  ofShards?: readonly (Room | undefined)[];
  /** The queued messages by shard. */
  queuedInShards?: readonly (ReadonlyMap<Workspace, number> | undefined)[];
}

/**
 * A node of a Cluster that has not answered by then counts as away: callers who need nothing of it wait for the whole of this, too. A
 * node that is well answers in a few ms, and seldom stands still for longer, as when it forks to write its file anew.
 */
const ANSWER_MS = 300;

type Memory = Pick<Room, 'usedBytes' | 'limitBytes'>;

/**
 * Safe to repeat; costs two commands for each shard and for each workspace, however many devices there are. Throws when no node answers.
 * On a Cluster three times `ANSWER_MS` at most while any node answers, and on a single Redis as long as that takes.
 * @param known the answer before: of workspaces and shards whose node is away, and of the list of workspaces, it holds on.
 * @param inUse workspaces that are asked about also where the list does not have them.
 */
export async function readCapacity(
  store: Store,
  known?: Capacity,
  inUse: readonly Workspace[] = [],
): Promise<Capacity> {
  const [nodes, listed] = await Promise.all([readNodes(store), readList(store, known)]);
  const fillsUp = [...nodes.values()].some((memory) => memory && memory.limitBytes > 0);
  const count = () => countQueued(store, known?.queuedInShards);
  const [ofWorkspaces, counted] = await Promise.all([
    readWorkspaces(store, [...new Set([...listed, ...inUse])], known),
    fillsUp || known?.backlogLimits?.size ? count() : undefined,
  ]);
  const isLimited = fillsUp || ofWorkspaces.backlogLimits.size > 0;
  const counts = isLimited ? (counted ?? (await count())) : [];
  const capacity = { ...fullestOf(nodes), ...ofWorkspaces, queuedMessages: sumOf(counts), queuedInShards: counts };
  if (!isCluster(store.redis)) return capacity;
  return { ...capacity, ofShards: roomsOfShards(store, nodes, counts) };
}

/** Of the masters of a Cluster that with the least room. Throws when none answers. */
export async function readFullestNode(store: Store): Promise<Memory> {
  return fullestOf(await readNodes(store));
}

/** `undefined` for one that is away: the others go on. */
async function readNodes(store: Store): Promise<Map<Redis, Memory | undefined>> {
  const nodes = masterNodes(store.redis);
  const memories = await settle(store, nodes.map(readMemory));
  return new Map(nodes.map((node, i) => [node, memories[i]]));
}

async function readMemory(node: Redis): Promise<Memory> {
  const info = await node.info('memory');
  const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  // Redis does not count what it has yet to write to its file, and to its replicas.
  return { usedBytes: read('used_memory') - read('mem_not_counted_for_evict'), limitBytes: read('maxmemory') };
}

function fullestOf(nodes: ReadonlyMap<Redis, Memory | undefined>): Memory {
  const shareOf = ({ usedBytes, limitBytes }: Memory) => (limitBytes === 0 ? 0 : usedBytes / limitBytes);
  return [...nodes.values()]
    .filter((memory) => memory !== undefined)
    .reduce((fullest, memory) => (shareOf(memory) > shareOf(fullest) ? memory : fullest));
}

function roomsOfShards(
  store: Store,
  nodes: ReadonlyMap<Redis, Memory | undefined>,
  counts: readonly (ReadonlyMap<Workspace, number> | undefined)[],
): (Room | undefined)[] {
  const places = Array.from({ length: SHARDS }, (_, shard) => nodeOfShard(store, shard));
  const rooms = new Map<Redis, Room>();
  for (const [node, memory] of nodes) {
    if (!memory) continue;
    const there = places.flatMap((place, shard) => (place === node ? [counts[shard]] : []));
    rooms.set(node, { ...memory, queuedMessages: sumOf(there) });
  }
  return places.map((place) => place && rooms.get(place));
}

function nodeOfShard({ redis, space }: Store, shard: number): Redis | undefined {
  try {
    return masterOfKey(redis, shardKeys(space, shard).devices);
  } catch {
    return undefined;
  }
}

/** What waits, by shard and workspace. What waits on a node that is away will go on to. */
async function countQueued(store: Store, known: Capacity['queuedInShards'] = []) {
  const shards = Array.from({ length: SHARDS }, (_, shard) => countInShard(store, shard));
  return (await settle(store, shards)).map((count, shard) => count ?? known[shard]);
}

async function countInShard(store: Store, shard: number): Promise<ReadonlyMap<Workspace, number>> {
  const devices = (await store.redis.smembers(shardKeys(store.space, shard).devices)).map(deviceOfName);
  if (devices.length === 0) return new Map();
  // Those of a shard lie in one slot.
  const backlogs = await store.redis.mget(devices.map((address) => deviceKeys(store.space, address).backlog));
  return sumOf(devices.map(({ workspace }, i) => new Map([[workspace, toCount(backlogs[i])]])));
}

async function readList(store: Store, known: Capacity | undefined): Promise<readonly Workspace[]> {
  const [entries] = await answersOf(store, [listWorkspaces(store)]);
  return entries?.map(({ name }) => name) ?? known?.workspaces ?? [DEFAULT_WORKSPACE];
}

async function readWorkspaces(store: Store, names: readonly Workspace[], known: Capacity | undefined) {
  const [files, limits] = await Promise.all([
    answersOf(
      store,
      names.map((name) => readNumber(store, workspaceKeys(store.space, name).blobBytes)),
    ),
    answersOf(
      store,
      names.map((name) => readWorkspaceLimits(store, name)),
    ),
  ]);
  const backlogLimits = new Map<Workspace, number>();
  for (const [i, name] of names.entries()) {
    const backlog = limits[i] ? limits[i].backlog : known?.backlogLimits?.get(name);
    if (backlog !== undefined) backlogLimits.set(name, backlog);
  }
  const fileBytes = files.reduce<number>((sum, bytes = 0) => sum + bytes, 0);
  return {
    workspaces: names.filter((name, i) => limits[i] || known?.workspaces?.includes(name)),
    backlogLimits,
    fileBytes,
  };
}

async function readNumber(store: Store, key: string): Promise<number> {
  return toCount(await store.redis.get(key));
}

const toCount = (text: string | null | undefined) => Math.max(0, Number(text ?? 0));

function sumOf(counts: readonly (ReadonlyMap<Workspace, number> | undefined)[]): Map<Workspace, number> {
  const total = new Map<Workspace, number>();
  for (const each of counts) {
    for (const [workspace, count] of each ?? []) total.set(workspace, (total.get(workspace) ?? 0) + count);
  }
  return total;
}

/** What lies on a node that is away is `undefined`. Throws when nothing else came. */
async function settle<Result>(store: Store, asked: readonly Promise<Result>[]): Promise<(Result | undefined)[]> {
  const answers = await answersOf(store, asked);
  const isThere = (answer: Result | undefined) => answer !== undefined;
  if (asked.length === 0 || answers.some(isThere)) return answers;
  // Not one in time: there is nothing to go on with, and it may be this process that is slow.
  const late = await Promise.all(asked.map(orUndefined));
  if (!late.some(isThere)) await asked[0];
  return late;
}

/** `undefined` for what lies on a node that is away. */
async function answersOf<Result>(store: Store, asked: readonly Promise<Result>[]): Promise<(Result | undefined)[]> {
  const answers = asked.map((): Result | undefined => undefined);
  const all = Promise.all(
    asked.map(async (one, i) => {
      answers[i] = await orUndefined(one);
    }),
  );
  // A process that was busy for as long has yet to read what has come meanwhile.
  if (!isCluster(store.redis)) await all;
  else if (!(await inTime(all, ANSWER_MS))) await turn();
  return [...answers];
}

function orUndefined<Result>(asked: Promise<Result>): Promise<Result | undefined> {
  return asked.catch(() => undefined);
}
