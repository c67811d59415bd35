import { decodeDoorbell } from '@gateway/contracts/doorbell';
import type { Workspace } from '@gateway/contracts/ids';
import { partsOfWorkspace } from '@gateway/contracts/keys-of-workspace';
import {
  doorbellChannel,
  eventLogChannel,
  type KeySpace,
  outboxChannel,
  shardKeys,
} from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';

/**
 * Tells of commands, each as its words, whether they name a workspace: a key of it, a job of a queue, or, where all have theirs
 * together, an entry or a bell of it. Elsewhere its name may be that of a device.
 */
export function namesWorkspace(space: KeySpace, workspace: Workspace): (command: readonly string[]) => boolean {
  const partIn = partsOfWorkspace(space, workspace);
  const ofShards = Array.from({ length: SHARDS }, (_, shard) => Object.values(shardKeys(space, shard))).flat();
  const shared = new Set<unknown>([eventLogChannel(space), outboxChannel(space), ...ofShards]);
  const doorbells = doorbellChannel(space);
  return (words) =>
    words.some((word) => partIn(word) === 'whole' || word.includes(`"workspace":"${workspace}"`)) ||
    (words.some((word) => shared.has(word) || partIn(word) === 'names') &&
      words.some((word) => word === workspace || word.startsWith(`${workspace}/`))) ||
    (words.includes(doorbells) && words.some((word) => decodeDoorbell(word)?.workspace === workspace));
}
