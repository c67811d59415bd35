import slotOf from 'cluster-key-slot';
import type { Redis } from 'ioredis';
import { GatewayError, toError } from '../errors.js';
import { isCluster, masterNodes, masterOfKey, SLOTS } from './redis-nodes.js';

/** The pattern of keys, and how many are looked at together. */
export interface ScanOptions {
  match: string;
  count: number;
}

/**
 * All keys of an installation that match a pattern, some hundreds at a time; one may come twice, as with `SCAN`. Throws `redis_away`,
 * perhaps only at the end, when it may have missed some: until then nothing is known of what was not found.
 *
 * Keys of a Cluster that move may be missed: they go to a master that was looked at before, or to one that has just joined, which clients
 * hear of when the first slot is its own, after the keys. So no slot may be open, and each must have the same master before and after,
 * by what all of them say: clients forget one as soon as its connection ends. Its epoch changes when a slot has gone and come back.
 */
export async function* scanKeys(redis: Redis, options: ScanOptions): AsyncGenerator<string[]> {
  const masters = masterNodes(redis);
  const before = await placesOfSlots(redis, masters);
  for (const node of masters) yield* scanNode(node, options);
  if ((await placesOfSlots(redis, masterNodes(redis))) !== before) throw hasMoved();
}

/** The same in the slot of a key, where the pattern has all its keys: other slots may move, and other masters be away. */
export async function* scanSlot(redis: Redis, key: string, options: ScanOptions): AsyncGenerator<string[]> {
  const node = masterOfKey(redis, key);
  const before = await placeOfSlot(redis, node, slotOf(key));
  yield* scanNode(node, options);
  if ((await placeOfSlot(redis, node, slotOf(key))) !== before) throw hasMoved();
}

async function* scanNode(node: Redis, { match, count }: ScanOptions): AsyncGenerator<string[]> {
  let cursor = '0';
  let stream: Redis['stream'] | undefined;
  do {
    const [next, keys] = await node.scan(cursor, 'MATCH', match, 'COUNT', count);
    stream ??= node.stream;
    // Another server, and the same one after a restart, has its keys in another order: the cursor means nothing there.
    if (node.stream !== stream) throw notAll('the connection was lost', 'Redis is back');
    cursor = next;
    yield keys;
  } while (cursor !== '0');
}

/** What a master says of itself and the others in `CLUSTER NODES`. */
interface View {
  /** Of the one that says it. */
  id: string;
  /** Changes with each slot that it gets. */
  epoch: string;
  /** Ranges of slots by the id of their master. */
  slots: Map<string, string[]>;
  /** Slots that it gives or gets. */
  open: number[];
}

async function placesOfSlots(redis: Redis, masters: readonly Redis[]): Promise<string> {
  if (!isCluster(redis)) return '';
  const views = await Promise.all(masters.map(readView));
  if (views.some(({ open }) => open.length > 0)) throw isMoving();
  const known = new Set(views.map(({ id }) => id));
  if (views.some(({ slots }) => [...slots.keys()].some((id) => !known.has(id)) || sizeOf(slots) < SLOTS))
    throw isAway();
  const told = views.map(({ slots }) =>
    [...slots]
      .map(([id, ranges]) => `${id} ${ranges.join(' ')}`)
      .sort()
      .join(),
  );
  if (new Set(told).size !== 1) throw isMoving();
  const epochs = views.map(({ id, epoch }) => `${id} ${epoch}`).sort();
  return [told[0], ...epochs].join();
}

async function placeOfSlot(redis: Redis, node: Redis, slot: number): Promise<string> {
  if (!isCluster(redis)) return '';
  const { id, epoch, slots, open } = await readView(node);
  const isIn = (range: string) => {
    const { first, last } = toEnds(range);
    return first <= slot && slot <= last;
  };
  if (open.includes(slot) || !slots.get(id)?.some(isIn)) throw isMoving();
  return `${id} ${epoch}`;
}

async function readView(node: Redis): Promise<View> {
  const text = await Promise.resolve(node.cluster('NODES')).catch((thrown: unknown) => {
    throw isAway(toError(thrown));
  });
  const view: View = { id: '', epoch: '', slots: new Map(), open: [] };
  for (const line of String(text).split('\n')) {
    const [id = '', , flags = '', , , , epoch = '', , ...places] = line.trim().split(' ');
    if (flags.split(',').includes('myself')) Object.assign(view, { id, epoch });
    // In its own line also `[slot->-next]` and `[slot-<-former]`.
    const ranges = places.filter((place) => !place.startsWith('['));
    if (ranges.length > 0) view.slots.set(id, ranges);
    for (const place of places) if (place.startsWith('[')) view.open.push(Number.parseInt(place.slice(1), 10));
  }
  return view;
}

function sizeOf(slots: View['slots']): number {
  const ends = [...slots.values()].flat().map(toEnds);
  return ends.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}

function toEnds(range: string): { first: number; last: number } {
  const [first, last = first] = range.split('-').map(Number);
  return { first: first!, last: last! };
}

const isAway = (cause?: Error) => notAll('a master of the Redis Cluster is away', 'all masters are there', cause);
const isMoving = () => notAll('a slot of the Redis Cluster moves', 'no slot moves');
const hasMoved = () => notAll('a slot of the Redis Cluster has moved meanwhile', 'no slot moves');

function notAll(why: string, when: string, cause?: Error): GatewayError {
  return new GatewayError({
    code: 'redis_away',
    message: `not all keys can be seen, because ${why}: run it again when ${when}`,
    cause,
  });
}
