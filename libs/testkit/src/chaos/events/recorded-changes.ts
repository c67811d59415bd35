import { readEntry } from '@gateway/contracts/events/entry';
import { parseMessageId } from '@gateway/contracts/ids';
import { changeKey } from './account-for-events.js';

/** `<prefix>:{#<shard>}:outbox:<workspace>`, as in redis-keys.ts. */
const OUTBOX = /:\{#\d+\}:outbox:[^:]+$/;

/**
 * Each status that Redis ever wrote down for those who want events, as `changeKey` has it: also those that others took the place of
 * before anyone was told.
 * @param written all commands that wrote.
 * @param messageIds those of other sends are left out.
 */
export function recordedChanges(written: Iterable<readonly Buffer[]>, messageIds: Iterable<string>): Set<string> {
  const idOf = new Map([...messageIds].map((id) => [parseMessageId(id)!.tag, id]));
  const changes = new Set<string>();
  for (const command of written) {
    if (command[0]?.toString().toUpperCase() !== 'XADD' || !OUTBOX.test(command[1]!.toString())) continue;
    const entry = command.at(-1)!;
    // With an empty one the outbox was made.
    if (entry.length === 0) continue;
    const { tag, parts } = readEntry(entry);
    const messageId = tag && idOf.get(tag);
    if (!messageId) continue;
    for (const part of parts) {
      if (part.kind !== 'changes') continue;
      for (const { index, status } of part.changes) changes.add(changeKey({ messageId, index, status }));
    }
  }
  return changes;
}
