import type { Want } from '@gateway/contracts/devices/device-state';
import { type DeviceAddress, deviceOfName } from '@gateway/contracts/ids';
import { sessionKeyPrefix, shardKeys } from '@gateway/contracts/redis-keys';
import { defineScript, text } from '../../core/scripts/define-script.js';
import { words } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { processOf } from '../process-of.js';

const lookStep = defineScript({
  name: 'look-at-shard',
  whenFull: 'runs',
  isRead: true,
  keys: ['devices'],
  args: { shardBase: text, sessionPrefix: text, '...names': text },
  reply: words,
});

/** A device that has an owner, or of which something is wanted that has not come about. */
export interface SeenDevice {
  address: DeviceAddress;
  want: Want;
  /** The process that owns it, and lives. */
  owner?: string;
}

/**
 * What there is to know of a shard's devices at one moment, of all workspaces. One step, some microseconds for each device.
 * @param names `workspace/device` of those that are looked at; without any, all.
 */
export async function lookAtShard(store: Store, shard: number, names: readonly string[] = []): Promise<SeenDevice[]> {
  const { base, devices } = shardKeys(store.space, shard);
  const sessionPrefix = sessionKeyPrefix(store.space, shard);
  const flat = await lookStep(store, { devices, shardBase: base, sessionPrefix, names });
  const seen: SeenDevice[] = [];
  for (let i = 0; i + 2 < flat.length; i += 3) seen.push(toSeen(flat[i]!, flat[i + 1] as Want, flat[i + 2]!));
  return seen;
}

function toSeen(name: string, want: Want, session: string): SeenDevice {
  const address = deviceOfName(name);
  return session === '' ? { address, want } : { address, want, owner: processOf(session) };
}
