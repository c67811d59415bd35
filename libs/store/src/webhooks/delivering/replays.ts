import { entryBefore, parseCursor, sayCursor } from '@gateway/contracts/events/cursor';
import { CLOCKS_DIFFER_MS } from '@gateway/contracts/events/entry';
import type { Workspace } from '@gateway/contracts/ids';
import { type EventTimes, type TellRange, WEBHOOK_LIMITS, type WebhookId } from '@gateway/contracts/webhooks/webhook';
import { defineScript, number, text } from '../../core/scripts/define-script.js';
import { oneOf } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { ringEventBell } from '../../events/event-bells.js';
import { logTimeOf } from '../../events/outboxes/late-entries.js';
import { readKept } from '../../events/read-log.js';
import { findInLog, makeLooks } from '../../events/reading/find-event.js';
import type { EventFilter } from '../../events/render-events.js';
import { listAttempts } from '../webhook-attempts.js';
import { readWebhook } from '../webhooks.js';
import { isAskedFor } from './is-asked-for.js';
import type { LaneState } from './lanes.js';
import { findParked, parkedKeys } from './parked/parked.js';

/**
 * What is told once more: one request as it was, or all between two places of the log. With `times` what happened in them; the other place is
 * behind all of that which was in the log when it was asked for.
 */
export type Replay = { id: string } & ({ after: string; to: string; times?: EventTimes } | { request: TellRange });

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
 * Asks for events to be told once more, in a lane of their own. @param wanted `ids` of what is put aside, of requests among the last
 * 200, or of single events and changes in the log; or all that happened from one time until before another. Answers which ids are known no more, or that there is nothing
 * between these times. Safe to repeat with the same times: while the replay waits, it is none more.
 */
export async function replayWebhook(
  store: Store,
  { workspace, id }: { workspace: Workspace; id: WebhookId },
  wanted: { ids: readonly string[] } | { afterMs: number; beforeMs: number },
  nowMs: number,
): Promise<'gone' | 'full' | 'empty' | { unknown: string[] }> {
  if ('afterMs' in wanted && wanted.afterMs >= wanted.beforeMs) return 'empty';
  const { webhook, parked, due, replays } = parkedKeys(store, workspace, id);
  const found =
    'ids' in wanted
      ? await findWanted(store, { workspace, id }, wanted.ids)
      : await findRange(store, workspace, wanted);
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

/** What happened comes into the log after its time: at once, or when there is a relay again. */
async function findRange(
  store: Store,
  workspace: Workspace,
  { afterMs, beforeMs }: { afterMs: number; beforeMs: number },
): Promise<Wanted> {
  const before = (ms: number) => entryBefore(`${Math.max(ms, 0)}-0`);
  const endMs = await logTimeOf(store, workspace, beforeMs);
  const replay: Replay = {
    ...{ id: `${afterMs}_${beforeMs}`, after: before(afterMs - CLOCKS_DIFFER_MS), to: before(endMs) },
    times: { fromMs: afterMs, beforeMs },
  };
  return { wanted: ['range', JSON.stringify(replay)], unknown: [] };
}

async function findWanted(
  store: Store,
  place: { workspace: Workspace; id: WebhookId },
  ids: readonly string[],
): Promise<Wanted> {
  const parked = await findParked(store, place, new Set(ids));
  const attempts = await listAttempts(store, place.workspace, place.id, WEBHOOK_LIMITS.keptAttempts);
  const isKept = await readKept(store, place.workspace);
  const ranges = new Map<string, TellRange>();
  for (const { webhookId, range } of attempts)
    if (range && isKept(parseCursor(range.after)!.entry)) ranges.set(webhookId, range);
  const webhook = await readWebhook(store, place.workspace, place.id);
  const { types = [], devices = null } = webhook?.settings ?? {};
  const filter = { types, ...(devices && { devices }) };
  const findRequest = async (id: string) => {
    const range = ranges.get(id);
    return range && (await isAskedFor(store, place.workspace, range, filter)) ? range : undefined;
  };
  const findEvent = eventFinder(store, place.workspace, filter);
  const wanted: string[] = [];
  const unknown: string[] = [];
  for (const id of new Set(ids)) {
    const key = parked.get(id);
    const request = key === undefined ? ((await findRequest(id)) ?? (await findEvent(id))) : undefined;
    if (key !== undefined) wanted.push('key', key);
    else if (request) wanted.push('range', JSON.stringify({ id, request } satisfies Replay));
    else unknown.push(id);
  }
  return { wanted, unknown };
}

/** One event of the log, as the endpoint is told of it now; a change is told alone. */
function eventFinder(store: Store, workspace: Workspace, filter: EventFilter) {
  const looks = makeLooks();
  return async (id: string): Promise<TellRange | undefined> => {
    const found = await findInLog(store, workspace, { id, filter, looks });
    if (!found || !('event' in found)) return undefined;
    return { lane: 'replay', after: sayCursor(found.after), to: sayCursor(found.to) };
  };
}
