import type { DeviceAddress } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import type { ScriptHost } from '../core/scripts/define-script.js';

/** Where steps write what changed with a device: see outbox.lua. */
export function outboxOf({ space }: Pick<ScriptHost, 'space'>, address: DeviceAddress): string {
  return shardKeys(space, shardOf(address)).outbox(address.workspace);
}
