import { entryMs, parseCursor } from '@gateway/contracts/events/cursor';
import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { Breaker } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_STATUSES, type WebhookId, type WebhookStatus } from '@gateway/contracts/webhooks/webhook';
import { inTime } from '@gateway/runtime/clock';
import { unlessRedisIsAway } from '@gateway/runtime/redis/is-redis-away';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import type { Store } from '../core/store.js';
import { knownEventWorkspaces } from '../events/open-events.js';
import { LANES, type LaneState } from './delivering/lanes.js';

/** All endpoints of the installation. */
export interface WebhookSurvey {
  byStatus: Record<WebhookStatus, number>;
  /** Recipients and writers of whom something is put aside, for each endpoint. */
  parked: number;
  /** When the failures of the one began that has failed for longest. */
  failingSinceMs?: number;
  /** When the oldest entry came into a log that an active endpoint has not been told yet. */
  undeliveredSinceMs?: number;
}

/** Of a workspace, as it was found last. */
interface SurveyedWorkspace {
  found: readonly Found[];
  /** Its node does not answer: then it is asked once, not again and again. */
  late?: Promise<void>;
}

export type SurveyedWorkspaces = Map<Workspace, SurveyedWorkspace>;

const AT_ONCE = 20;
/** A node that has not answered by then counts as away. */
const ANSWER_MS = 1_000;

/**
 * Costs Redis up to four commands for each endpoint. @param known of the looks before: while the node of a workspace is away, what was
 * found there last counts on.
 */
export async function surveyWebhooks(store: Store, known: SurveyedWorkspaces = new Map()): Promise<WebhookSurvey> {
  const { workspaces } = await knownEventWorkspaces(store);
  for (const workspace of known.keys()) if (!workspaces.includes(workspace)) known.delete(workspace);
  for (let from = 0; from < workspaces.length; from += AT_ONCE) {
    await Promise.all(
      workspaces.slice(from, from + AT_ONCE).map((workspace) => surveyWorkspace(store, workspace, known)),
    );
  }
  const byStatus = Object.fromEntries(WEBHOOK_STATUSES.map((status) => [status, 0])) as WebhookSurvey['byStatus'];
  const all = [...known.values()].flatMap(({ found }) => found);
  for (const { status } of all) byStatus[status]++;
  const failing = all.flatMap(({ failingSinceMs }) => failingSinceMs ?? []);
  const undelivered = all.flatMap(({ undeliveredSinceMs }) => undeliveredSinceMs ?? []);
  return {
    ...{ byStatus, parked: all.reduce((sum, { aside }) => sum + aside, 0) },
    ...(failing.length > 0 && { failingSinceMs: Math.min(...failing) }),
    ...(undelivered.length > 0 && { undeliveredSinceMs: Math.min(...undelivered) }),
  };
}

async function surveyWorkspace(store: Store, workspace: Workspace, known: SurveyedWorkspaces): Promise<void> {
  const last: SurveyedWorkspace = known.get(workspace) ?? { found: [] };
  known.set(workspace, last);
  const look = async () => {
    const ids = await store.redis.smembers(workspaceKeys(store.space, workspace).webhooks);
    const found = await Promise.all(ids.map((id) => surveyOne(store, workspace, id)));
    last.found = found.flatMap((each) => each ?? []);
  };
  const looking = last.late ?? look();
  if (!isCluster(store.redis)) return looking;
  last.late = looking;
  const forget = () => {
    delete last.late;
  };
  looking.then(forget, forget);
  await inTime(looking, ANSWER_MS).catch(unlessRedisIsAway);
}

type Found = Pick<WebhookSurvey, 'failingSinceMs' | 'undeliveredSinceMs'> & {
  status: WebhookStatus;
  /** Of how many something is put aside. */
  aside: number;
};

async function surveyOne(store: Store, workspace: Workspace, id: WebhookId): Promise<Found | undefined> {
  const { webhook, webhookParkedSince, eventLog } = workspaceKeys(store.space, workspace);
  const fields = ['status', 'breaker', 'createdAtMs', ...LANES.map((lane) => `lane:${lane}`)];
  const [[status, breaker, createdAtMs, ...lanes], aside] = await Promise.all([
    store.redis.hmget(webhook(id), ...fields),
    store.redis.zcard(webhookParkedSince(id)),
  ]);
  if (!status) return undefined;
  const { sinceMs } = JSON.parse(breaker ?? '{}') as Breaker;
  const found = { status: status as WebhookStatus, aside };
  if (found.status === 'failing') return { ...found, ...(sinceMs !== undefined && { failingSinceMs: sinceMs }) };
  if (found.status !== 'active') return found;
  const cursors = lanes.flatMap((lane) => cursorsOf(lane, createdAtMs));
  const waiting = await Promise.all(cursors.map((cursor) => oldestAfter(store, eventLog, cursor)));
  const known = waiting.filter((atMs) => atMs !== undefined);
  return { ...found, ...(known.length > 0 && { undeliveredSinceMs: Math.min(...known) }) };
}

/** Also of what it has passed for now. One that was never told anything begins where it was made: it may be that it cannot be. */
function cursorsOf(lane: string | null | undefined, createdAtMs: string | null | undefined): string[] {
  if (!lane) return [`${Number(createdAtMs) - 1}-0`];
  const { cursor, held = [] } = JSON.parse(lane) as LaneState;
  return [cursor, ...held.map((part) => part.cursor)];
}

/** When the entry came that a lane is to be told next. */
async function oldestAfter(store: Store, log: string, cursor: string): Promise<number | undefined> {
  const { entry } = parseCursor(cursor)!;
  const [next] = await store.redis.xrange(log, `(${entry}`, '+', 'COUNT', 1);
  return next && entryMs(next[0]);
}
