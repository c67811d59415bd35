import { randomBytes } from 'node:crypto';
import { EVENT_LOG, mayWait } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import type { ScriptHost } from '../core/scripts/define-script.js';
import { bytes, defineScript, flag, mixed, number, text } from '../core/scripts/define-script.js';
import { oneOf } from '../core/scripts/replies.js';
import { lateSince } from './outboxes/late-entries.js';

const appendStep = defineScript({
  name: 'append-events',
  whenFull: 'runs',
  keys: ['log', 'marks'],
  args: {
    ...{ field: text, none: text, expected: text, mark: text, attempt: text },
    ...{ keptMs: number, lateSinceMs: mixed, canWait: flag, '...entries': bytes },
  },
  reply: oneOf('appended', 'moved', 'closed'),
});

export interface Outbox {
  workspace: Workspace;
  shard: number;
}

export function keyOfOutbox({ space }: Pick<ScriptHost, 'space'>, { workspace, shard }: Outbox): string {
  return shardKeys(space, shard).outbox(workspace);
}

export interface Append {
  /** Of the marks. */
  field: string;
  /** Where there is no mark yet. */
  none: string;
  expected: string;
  mark: string;
  entries: Buffer[];
  /** It stays with the mark, and says whose it is: who sends this again, as its reply was lost, is answered the same, and counts it once. '' of nothing. */
  attempt: string;
}

/** Another one for each append. */
export const makeAttempt = (): string => randomBytes(9).toString('base64url');

/** Entries come into the log of a workspace if its mark is where it is expected. */
export function appendEvents(
  host: ScriptHost,
  { workspace }: Outbox,
  { field, none, expected, mark, entries, attempt }: Append,
): Promise<'appended' | 'moved' | 'closed'> {
  const { eventLog: log, eventMarks: marks } = workspaceKeys(host.space, workspace);
  const canWait = entries.every(mayWait);
  const { keptMs } = EVENT_LOG;
  const lateSinceMs = lateSince(entries) ?? '';
  return appendStep(host, { log, marks, field, none, expected, mark, attempt, keptMs, lateSinceMs, canWait, entries });
}
