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
    const stateNow = async () => (await everything(space, keys)).join('\n');
    const first = await space.store.run(name, keys, args);
    const before = await stateNow();
    const second = await space.store.run(name, keys, args);
    if ((await stateNow()) !== before) changed.add(name);
    if (JSON.stringify(second) !== JSON.stringify(first)) answered.add(name);
    return first;
  };
  return { run, changed, answered };
}
