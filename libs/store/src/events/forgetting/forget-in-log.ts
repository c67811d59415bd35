import { EVENT_LOG } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, number, text } from '../../core/scripts/define-script.js';
import { isOne } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { openKnown } from '../read-log.js';

const replaceStep = defineScript({
  name: 'replace-event',
  whenFull: 'runs',
  keys: ['log', 'marks'],
  args: { id: text, what: text, keptMs: number },
  reply: isOne,
});

const AT_ONCE = 500;

/**
 * Takes people out of the log of a workspace: that they opted out, or in again. All else in it has no name of theirs. Where others are in
 * such an entry too, who asks for it and has not read it hears of a gap in its place: told at the end, their wishes would come in another
 * order. Answers in how many entries they were; safe to repeat. Throws `UnknownVersionError`.
 * @param names digits of numbers and of hidden identifiers.
 */
export async function forgetInLog(store: Store, workspace: Workspace, names: ReadonlySet<string>): Promise<number> {
  const { eventLog: log, eventMarks: marks } = workspaceKeys(store.space, workspace);
  const { keptMs } = EVENT_LOG;
  let removed = 0;
  for (let after = '-'; ; ) {
    const rows = await store.redis.xrangeBuffer(log, after, '+', 'COUNT', AT_ONCE);
    for (const [id, [, entry]] of rows) {
      const { isAdded, people } = optOutsIn(entry!);
      const others = people.filter((person) => !names.has(person));
      if (others.length === people.length) continue;
      const what = others.length === 0 ? '' : isAdded ? 'added' : 'removed';
      if (await replaceStep(store, { log, marks, id: id.toString(), what, keptMs })) removed++;
    }
    if (rows.length < AT_ONCE) return removed;
    after = `(${rows.at(-1)![0].toString()}`;
  }
}

/** Digits; of all entries only those of opt-outs have any, which are about no device. */
function optOutsIn(bytes: Buffer): { isAdded?: boolean; people: string[] } {
  const entry = openKnown(bytes);
  if (entry.device !== undefined) return { people: [] };
  const part = entry.parts.find((each) => each.kind === 'optOuts');
  if (!part) return { people: [] };
  return { isAdded: part.isAdded, people: part.phones.map((person) => person.replace('@lid', '')) };
}
