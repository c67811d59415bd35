import type { RunScript } from '@gateway/store/core/scripts/define-script';
import type { RedisSpace } from '@gateway/testkit/redis-space';
import { everything } from './everything.js';

export interface Repeats {
  run: RunScript;
  /** Steps that changed something when they were sent once more, and those whose reply was another one. */
  changed: Set<string>;
  answered: Set<string>;
}

/**
 * Sends each step once more, as the client does when it loses the connection before the reply has come.
 */
export function runTwice(space: RedisSpace): Repeats {
  const changed = new Set<string>();
  const answered = new Set<string>();
  const run: RunScript = async (name, keys, args) => {
    const first = await space.store.run(name, keys, args);
    const before = await everything(space, keys);
    const endMs = await Promise.all(before.map((line) => space.clients.commands.pexpiretime(line.split(' ')[0]!)));
    const second = await space.store.run(name, keys, args);
    const after = await everything(space, keys);
    // On a busy machine a key may come to its end in between, and be there again with another one: it says nothing.
    const nowMs = Date.now();
    const ended = new Set(
      before.filter((_, i) => endMs[i]! > 0 && endMs[i]! <= nowMs).map((line) => line.split(' ')[0]),
    );
    const lasting = (lines: string[]) => lines.filter((line) => !ended.has(line.split(' ')[0])).join('\n');
    if (lasting(after) !== lasting(before)) changed.add(name);
    if (JSON.stringify(second) !== JSON.stringify(first)) answered.add(name);
    return first;
  };
  return { run, changed, answered };
}
