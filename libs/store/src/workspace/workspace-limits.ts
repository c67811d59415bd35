import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, mixed } from '../core/scripts/define-script.js';
import { isOne } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import { WorkspaceGoneError } from '../core/workspace-gone-error.js';

const setStep = defineScript({
  name: 'set-limits',
  whenFull: 'runs',
  keys: ['limits', 'token?'],
  args: { '...fields': mixed },
  reply: isOne,
});

/**
 * What an operator may allow a workspace: devices in its list, messages that wait, bytes of files, people whom callers put on its
 * list of opt-outs. Beside them the limits of the installation hold on; the lower one counts.
 */
export const WORKSPACE_LIMITS = ['devices', 'backlog', 'fileBytes', 'optOuts'] as const;
export type WorkspaceLimit = (typeof WORKSPACE_LIMITS)[number];
export type WorkspaceLimits = Partial<Record<WorkspaceLimit, number>>;

/** Those that were set. One command. */
export async function readWorkspaceLimits(store: Store, workspace: Workspace): Promise<WorkspaceLimits> {
  const found = await store.redis.hgetall(workspaceKeys(store.space, workspace).limits);
  return Object.fromEntries(
    WORKSPACE_LIMITS.flatMap((name) => (found[name] === undefined ? [] : [[name, Number(found[name])]])),
  );
}

/**
 * Sets those that are given; `undefined` takes one away. What is there already stays, if it is more. Safe to repeat.
 * @param proof of the workspace that is meant (`createProof`): throws `WorkspaceGoneError` when it has gone.
 */
export async function setWorkspaceLimits(
  store: Store,
  workspace: Workspace,
  limits: { [Name in WorkspaceLimit]?: number | undefined },
  proof?: { keyId: string },
): Promise<void> {
  const keys = workspaceKeys(store.space, workspace);
  const fields = Object.entries(limits).flatMap(([name, value]) => [name, value ?? '']);
  const token = proof && keys.token(proof.keyId);
  if (!(await setStep(store, { limits: keys.limits, token, fields }))) throw new WorkspaceGoneError();
}
