import { type DeviceAddress, deviceOfName, type SendTag } from '@gateway/contracts/ids';
import { deviceKeys, sessionKeyPrefix, shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { releaseBlobs } from '../../blobs/blobs.js';
import { defineScript, number, text } from '../../core/scripts/define-script.js';
import { nothing, words } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { processOf } from '../../fleet/process-of.js';
import { keysOfSend, SEND_AND_DEVICE } from '../keys-of-send.js';

const serveStep = defineScript({
  name: 'serve-send',
  whenFull: 'runs',
  readsSend: true,
  keys: [...SEND_AND_DEVICE, 'deviceOwner'],
  args: { nowMs: number, sessionPrefix: text },
  reply: words,
});
const endReleasesStep = defineScript({
  name: 'end-releases',
  whenFull: 'runs',
  keys: ['due', 'released'],
  args: { entry: text },
  reply: nothing,
});

/** Something is due: for a send, or for the files that ended sends of a device had. */
export interface DueEntry {
  dueMs: number;
  /** As it is written there. */
  name: string;
  address: DeviceAddress;
  tag: SendTag | undefined;
}

export type Served =
  /** Nothing more is due for it now. */
  | { kind: 'done' }
  | { kind: 'expired' }
  /** No owner has taken it in: the one that lives is to be told. */
  | { kind: 'wake'; processId: string };

/** What is due in a shard by then, the oldest first. */
export async function listDue(
  store: Store,
  shard: number,
  { untilMs, limit }: { untilMs: number; limit: number },
): Promise<DueEntry[]> {
  const { due } = shardKeys(store.space, shard);
  const found = await store.redis.zrangebyscore(due, '-inf', untilMs, 'WITHSCORES', 'LIMIT', 0, limit);
  return found.flatMap((name, at) => (at % 2 === 0 ? [toEntry(name, Number(found[at + 1]))] : []));
}

function toEntry(name: string, dueMs: number): DueEntry {
  const [workspace, device, tag] = name.split('/');
  return { name, dueMs, address: deviceOfName(`${workspace}/${device}`), tag };
}

/** Does what is due. Needs no ownership; safe to repeat, and at the same time. Throws `UnknownVersionError`. */
export async function serveDue(store: Store, { name, address, tag }: DueEntry, nowMs: number): Promise<Served> {
  if (tag === undefined) {
    await releaseBlobs(store, address);
    const { due } = shardKeys(store.space, shardOf(address));
    await endReleasesStep(store, { due, released: deviceKeys(store.space, address).releasedBlobs, entry: name });
    return { kind: 'done' };
  }
  const [outcome, session] = await serveStep(store, {
    ...{ ...keysOfSend(store, address, tag), deviceOwner: deviceKeys(store.space, address).owner },
    ...{ nowMs, sessionPrefix: sessionKeyPrefix(store.space, shardOf(address)) },
  });
  if (outcome === 'wake') return { kind: 'wake', processId: processOf(session!) };
  return outcome === 'expired' ? { kind: 'expired' } : { kind: 'done' };
}

/** One that cannot be served now. */
export async function putOffDue(store: Store, { name, address }: DueEntry, untilMs: number): Promise<void> {
  await store.redis.zadd(shardKeys(store.space, shardOf(address)).due, 'XX', untilMs, name);
}
