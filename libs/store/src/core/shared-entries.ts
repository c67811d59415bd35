import type { Store } from './store.js';

/** Of a key that workspaces share. */
interface SharedEntry {
  /** The member, or the field. */
  entry: string;
  /** What may say to whom it belongs: of a hash the value, too. */
  parts: string[];
}

type Kind = 'set' | 'zset' | 'hash';

const AT_ONCE = 500;
const REMOVE: Record<Kind, 'srem' | 'zrem' | 'hdel'> = { set: 'srem', zset: 'zrem', hash: 'hdel' };

/** All entries of a set, a sorted set or a hash, some hundreds at a time; one may come twice. Other kinds of keys have none. */
export async function* entriesOf(store: Store, key: string): AsyncGenerator<SharedEntry> {
  const kind = await store.redis.type(key);
  if (!isKind(kind)) return;
  let cursor = '0';
  do {
    const [next, flat] = await scan(store, { kind, key, cursor });
    cursor = next;
    const step = kind === 'set' ? 1 : 2;
    for (let i = 0; i < flat.length; i += step) {
      const entry = flat[i]!;
      yield { entry, parts: kind === 'hash' ? [entry, flat[i + 1]!] : [entry] };
    }
  } while (cursor !== '0');
}

export async function removeEntries(
  { redis }: Store,
  entries: readonly { key: string; entry: string }[],
): Promise<void> {
  await Promise.all(
    entries.map(async ({ key, entry }) => {
      const kind = await redis.type(key);
      if (isKind(kind)) await redis[REMOVE[kind]](key, entry);
    }),
  );
}

function scan({ redis }: Store, { kind, key, cursor }: { kind: Kind; key: string; cursor: string }) {
  if (kind === 'set') return redis.sscan(key, cursor, 'COUNT', AT_ONCE);
  return kind === 'zset' ? redis.zscan(key, cursor, 'COUNT', AT_ONCE) : redis.hscan(key, cursor, 'COUNT', AT_ONCE);
}

function isKind(type: string): type is Kind {
  return type in REMOVE;
}
