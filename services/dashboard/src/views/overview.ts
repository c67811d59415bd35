import type { Overview } from '@gateway/contracts/console/overview';
import type { Workspace } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import { listSends } from '@gateway/store/sends/listing/list-sends';
import { readActivity } from '@gateway/store/sends/listing/read-activity';
import { listApiTokens } from '@gateway/store/workspace/api-tokens';

const HOUR_MS = 60 * 60_000;

export async function readOverview(store: Store, workspace: Workspace, nowMs: number): Promise<Overview> {
  const [activity, tokens, { sends }] = await Promise.all([
    readActivity(store, workspace, { fromMs: nowMs - HOUR_MS, toMs: nowMs }),
    listApiTokens(store, workspace),
    listSends(store, workspace, { limit: 1 }),
  ]);
  return { ...activity, steps: { hasToken: tokens.length > 0, hasSent: sends.length > 0 } };
}
