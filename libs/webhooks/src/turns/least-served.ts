import type { Workspace } from '@gateway/contracts/ids';

interface OfWorkspace {
  workspace: Workspace;
}

/** The first one of the workspace that has fewest places. */
export function leastServed<T extends OfWorkspace>(
  waiting: Iterable<T>,
  running: Iterable<OfWorkspace>,
): T | undefined {
  const places = new Map<Workspace, number>();
  for (const { workspace } of running) places.set(workspace, (places.get(workspace) ?? 0) + 1);
  let found: T | undefined;
  for (const each of waiting) {
    if (!found || (places.get(each.workspace) ?? 0) < (places.get(found.workspace) ?? 0)) found = each;
  }
  return found;
}
