import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { bytes, defineScript, text } from '../../core/scripts/define-script.js';
import { isOne } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { gapEntry } from '../gap-entry.js';
import { openKnown } from '../read-log.js';

const replaceStep = defineScript({
  name: 'replace-event',
  whenFull: 'runs',
  keys: ['log'],
  args: { id: text, instead: bytes },
  reply: isOne,
});

const AT_ONCE = 500;

/**
 * Takes people out of the log of a workspace: that they opted out, or in again. All else in it has no name of theirs. Who has not read
 * such an entry hears of a gap where others are in it too: told at the end, their wishes would come in another order. Answers in how many entries they were; safe to repeat. Throws `UnknownVersionError`.
 * @param names digits of numbers and of hidden identifiers.
 */
export async function forgetInLog(store: Store, workspace: Workspace, names: ReadonlySet<string>): Promise<number> {
  const { eventLog } = workspaceKeys(store.space, workspace);
  let removed = 0;
  for (let after = '-'; ; ) {
    const rows = await store.redis.xrangeBuffer(eventLog, after, '+', 'COUNT', AT_ONCE);
    for (const [id, [, entry]] of rows) {
      const people = peopleIn(entry!);
      const others = people.filter((person) => !names.has(person));
      if (others.length === people.length) continue;
      const instead = others.length > 0 ? gapEntry(1) : '';
      if (await replaceStep(store, { log: eventLog, id: id.toString(), instead })) removed++;
    }
    if (rows.length < AT_ONCE) return removed;
    after = `(${rows.at(-1)![0].toString()}`;
  }
}

/** Digits; of all entries only those of opt-outs have any, which are about no device. */
function peopleIn(bytes: Buffer): string[] {
  const entry = openKnown(bytes);
  if (entry.device !== undefined) return [];
  const people = entry.parts.flatMap((part) => (part.kind === 'optOuts' ? part.phones : []));
  return people.map((person) => person.replace('@lid', ''));
}
