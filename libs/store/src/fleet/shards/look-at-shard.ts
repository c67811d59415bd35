import type { Want } from '@gateway/contracts/devices/device-state';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { sessionKeyPrefix, shardKeys } from '@gateway/contracts/redis-keys';
import { defineScript, text } from '../../core/scripts/define-script.js';
import { words } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';

const lookStep = defineScript({
  name: 'look-at-shard',
  whenFull: 'runs',
  keys: ['devices'],
  args: { shardBase: text, sessionPrefix: text },
  reply: words,
});

/** A device that has an owner, or of which something is wanted that has not come about. */
export interface SeenDevice {
  address: DeviceAddress;
  want: Want;
  /** The process that owns it, and lives. */
  owner?: string;
}

/** What there is to know of a shard's devices at one moment, of all workspaces. One step, some microseconds for each device. */
export async function lookAtShard(store: Store, shard: number): Promise<SeenDevice[]> {
  const { base, devices } = shardKeys(store.space, shard);
  const sessionPrefix = sessionKeyPrefix(store.space, shard);
  const flat = await lookStep(store, { devices, shardBase: base, sessionPrefix });
  const seen: SeenDevice[] = [];
  for (let i = 0; i + 2 < flat.length; i += 3) seen.push(toSeen(flat[i]!, flat[i + 1] as Want, flat[i + 2]!));
  return seen;
}

/** A session is named after its process, and counted. */
function toSeen(name: string, want: Want, session: string): SeenDevice {
  const [workspace, device] = name.split('/') as [string, string];
  const address = { workspace, device };
  return session === '' ? { address, want } : { address, want, owner: session.slice(0, session.lastIndexOf('.')) };
}
