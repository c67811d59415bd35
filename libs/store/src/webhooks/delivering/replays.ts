import type { Workspace } from '@gateway/contracts/ids';
import { type TellRange, WEBHOOK_LIMITS, type WebhookId } from '@gateway/contracts/webhooks/webhook';
import { defineScript, number, text } from '../../core/scripts/define-script.js';
import { oneOf } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { ringEventBell } from '../../events/event-bells.js';
import { listAttempts } from '../webhook-attempts.js';
import type { LaneState } from './lanes.js';
import { findParked, parkedKeys } from './parked.js';

/** What is told once more: all between two places of the log, or one request as it was. */
export type Replay = { id: string } & ({ after: string; to: string } | { request: TellRange });

const replayStep = defineScript({
  name: 'replay-webhook',
  whenFull: 'refused',
  keys: ['webhook', 'parked', 'due', 'replays'],
  args: { nowMs: number, most: number, '...wanted': text },
  reply: oneOf('done', 'gone', 'full'),
});

/** Where its lane begins. A request is what it was, whatever has been put aside since. */
export function stateOfReplay(replay: Replay): LaneState {
  if (!('request' in replay)) return { cursor: replay.after };
  const { after, to, without } = replay.request;
  return { cursor: after, claim: { to, refusals: 0, ...(without && { without }) } };
}

/**
 * Asks for events to be told once more, in a lane of their own. @param wanted `ids` of what is put aside, or of requests among the last
 * 200; or all that came into the log from one time until before another. Answers which ids are known no more. Safe to repeat.
 */
export async function replayWebhook(
  store: Store,
  { workspace, id }: { workspace: Workspace; id: WebhookId },
  wanted: { ids: readonly string[] } | { afterMs: number; beforeMs: number },
  nowMs: number,
): Promise<'gone' | 'full' | { unknown: string[] }> {
  const { webhook, parked, due, replays } = parkedKeys(store, workspace, id);
  const found = 'ids' in wanted ? await findWanted(store, { workspace, id }, wanted.ids) : toRange(wanted);
  const most = WEBHOOK_LIMITS.maxReplays;
  const outcome = await replayStep(store, { webhook, parked, due, replays, nowMs, most, wanted: found.wanted });
  await store.confirmWrites(webhook);
  await ringEventBell(store, workspace);
  return outcome === 'done' ? { unknown: found.unknown } : outcome;
}

interface Wanted {
  wanted: string[];
  unknown: string[];
}

/** From the first entry of a millisecond to the last before another one. */
function toRange({ afterMs, beforeMs }: { afterMs: number; beforeMs: number }): Wanted {
  const before = (ms: number) => `${Math.max(ms - 1, 0)}-9999999999`;
  const replay: Replay = { id: `${afterMs}_${beforeMs}`, after: before(afterMs), to: before(beforeMs) };
  return { wanted: ['range', JSON.stringify(replay)], unknown: [] };
}

async function findWanted(
  store: Store,
  place: { workspace: Workspace; id: WebhookId },
  ids: readonly string[],
): Promise<Wanted> {
  const parked = await findParked(store, place, new Set(ids));
  const attempts = await listAttempts(store, place.workspace, place.id, WEBHOOK_LIMITS.keptAttempts);
  const ranges = new Map(attempts.flatMap(({ webhookId, range }) => (range ? [[webhookId, range] as const] : [])));
  const wanted: string[] = [];
  const unknown: string[] = [];
  for (const id of new Set(ids)) {
    const [key, request] = [parked.get(id), ranges.get(id)];
    if (key !== undefined) wanted.push('key', key);
    else if (request) wanted.push('range', JSON.stringify({ id, request } satisfies Replay));
    else unknown.push(id);
  }
  return { wanted, unknown };
}
