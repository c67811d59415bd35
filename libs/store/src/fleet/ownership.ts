import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys, sessionKey, sessionKeyPrefix } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import { defineScript, number, text } from '../core/scripts/define-script.js';
import { isOne, nothing, numeric } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';

const claimStep = defineScript({
  name: 'claim-device',
  whenFull: 'runs',
  keys: ['owner', 'epoch', 'session', 'device'],
  args: { sessionPrefix: text, sessionId: text },
  reply: numeric,
});
const releaseStep = defineScript({
  name: 'release-device',
  whenFull: 'runs',
  keys: ['owner'],
  args: { token: text },
  reply: isOne,
});
const openStep = defineScript({
  name: 'open-session',
  whenFull: 'runs',
  whileSlotMoves: 'runs',
  keys: ['session'],
  args: { ttlMs: number },
  reply: nothing,
});
const renewStep = defineScript({
  name: 'renew-sessions',
  whenFull: 'runs',
  whileSlotMoves: 'runs',
  keys: ['...sessions'],
  args: { ttlMs: number },
  reply: (reply) => (reply as number[]).map((alive) => alive === 1),
});
const endStep = defineScript({
  name: 'end-sessions',
  whenFull: 'runs',
  whileSlotMoves: 'runs',
  keys: ['...sessions'],
  args: {},
  reply: nothing,
});

/** Proof of ownership: every write of an owner carries it, and Redis compares it. */
export interface Ownership {
  address: DeviceAddress;
  epoch: number;
  /** `session:epoch`, the value of the device's `owner` key. It counts for as long as that session lives. */
  token: string;
}

/** The life of a process in one shard: a key that it keeps alive. Its id is never used again. */
export interface Session {
  shard: number;
  id: string;
}

/** Begins a session: until then no device can be claimed under it. */
export async function openSession(store: Store, session: Session, ttlMs: number): Promise<void> {
  await openStep(store, { session: sessionKey(store.space, session), ttlMs });
}

/**
 * The sessions that one command can renew: all of them on one Redis. In a Cluster each shard lies in a slot of its own, so it
 * is one by one; and a node that is away holds up only its own.
 */
export function groupSessions<Each extends Session>(store: Store, sessions: readonly Each[]): Each[][] {
  if (isCluster(store.redis)) return sessions.map((session) => [session]);
  return sessions.length > 0 ? [[...sessions]] : [];
}

/** Which of a group live, in order: those have `ttlMs` more. A session that has ended stays so. */
export async function renewSessions(store: Store, sessions: readonly Session[], ttlMs: number): Promise<boolean[]> {
  return renewStep(store, { sessions: sessions.map((session) => sessionKey(store.space, session)), ttlMs });
}

/** Owners under these sessions are owners no more: their devices can be claimed. Safe to repeat. */
export async function endSessions(store: Store, sessions: readonly Session[]): Promise<void> {
  const end = (group: readonly Session[]) =>
    endStep(store, { sessions: group.map((session) => sessionKey(store.space, session)) });
  await Promise.all(groupSessions(store, sessions).map(end));
}

/**
 * Makes a session the owner of a device that has none, or one whose session has ended. A later owner always has the larger
 * epoch. Safe to repeat: a session that owns the device already gets the ownership that it has. `taken`: another session owns
 * it and lives, or it is there no more. `noSession`: the session itself has ended.
 */
export async function claimDevice(
  store: Store,
  address: DeviceAddress,
  sessionId: string,
): Promise<Ownership | 'taken' | 'noSession'> {
  const { owner, epoch, device } = deviceKeys(store.space, address);
  const shard = shardOf(address);
  const claimed = await claimStep(store, {
    ...{ owner, epoch, device, session: sessionKey(store.space, { shard, id: sessionId }), sessionId },
    sessionPrefix: sessionKeyPrefix(store.space, shard),
  });
  if (claimed === 0) return 'taken';
  return claimed < 0 ? 'noSession' : { address, epoch: claimed, token: `${sessionId}:${claimed}` };
}

/** Safe to repeat, and by an owner that is one no more. Resolves with whether it still was. */
export function releaseDevice(store: Store, { address, token }: Ownership): Promise<boolean> {
  return releaseStep(store, { owner: deviceKeys(store.space, address).owner, token });
}
