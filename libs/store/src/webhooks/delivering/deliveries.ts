import { WEBHOOK_TOLD } from '@gateway/contracts/events/entry';
import { makeAttemptId, type Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { Breaker, BreakerOutcome } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS, type WebhookAttempt, type WebhookId } from '@gateway/contracts/webhooks/webhook';
import {
  bytes,
  defineScript,
  flag,
  mixed,
  number,
  type ScriptArgument,
  text,
} from '../../core/scripts/define-script.js';
import { oneOf, words } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { ALL_LANES, type LaneState, type TellLane } from './lanes.js';
import type { WebhookOwner } from './owners.js';
import { type ParkedChange, type ParkedState, parkedKeys, toArguments } from './parked/parked.js';
import { type Replay, stateOfReplay } from './replays.js';

const KEYS = ['webhook', 'parked', 'due', 'since', 'replays'] as const;
const WRITES = {
  ...{ lane: text, processId: text, revision: text, forgotten: text, before: text, after: text },
  ...{ parksAtMs: number, mostOfOne: number, mostParked: number, replay: text },
};
const CHANGES = { '...changes': mixed };
const REPLY = oneOf('done', 'fenced', 'idle');
const warnStep = defineScript({
  name: 'warn-of-webhook',
  whenFull: 'runs',
  keys: ['webhook', 'log'],
  args: {
    ...{ processId: text, before: text, after: text },
    ...{ atMs: number, id: text, sinceMs: number, httpStatus: number },
  },
  reply: REPLY,
});
const takeStep = defineScript({
  name: 'take-webhook',
  whenFull: 'runs',
  keys: ['webhook', 'session', 'parked', 'due', 'since', 'replays'],
  args: { processId: text, sessionMs: number, '...lanes': text },
  reply: words,
});
const claimStep = defineScript({
  name: 'claim-delivery',
  whenFull: 'runs',
  keys: KEYS,
  args: { ...WRITES, withAll: flag, ...CHANGES },
  reply: REPLY,
});
const settleStep = defineScript({
  name: 'settle-delivery',
  whenFull: 'runs',
  keys: [...KEYS, 'attempts', 'times', 'log'],
  args: {
    ...{ ...WRITES, breaker: text, status: text, attempt: text, atMs: number, sealed: bytes, most: number },
    ...{ tell: text, id: text, sinceMs: number, httpStatus: number, ...CHANGES },
  },
  reply: REPLY,
});

const postponeStep = defineScript({
  name: 'postpone-replay',
  whenFull: 'runs',
  keys: ['webhook', 'replays'],
  args: { processId: text, replay: text, state: text },
  reply: oneOf('done', 'waits', 'alone', 'fenced'),
});

/** One endpoint as the process that delivers to it has it. */
export interface TakenWebhook {
  workspace: Workspace;
  id: WebhookId;
  processId: string;
  /** Of the endpoint: after its next change nothing more is begun with this. */
  revision: string;
  /** A name that is written each time a person is forgotten: what was read under another one is not posted. */
  forgotten: string;
  /** As of `Webhook`. */
  tellsAll: boolean;
  breaker: Breaker;
  /** Something is put aside. */
  hasParked: boolean;
  /** So many events that were put aside are lost, and that was not told. */
  lost: number;
  /** The first of those that are asked for. */
  replay?: Replay;
  /** As they are in Redis, exactly; '' for one that is new. `wanted`: the first replay. */
  stored: Record<TellLane | 'parked' | 'wanted', string>;
  /** That of `replay` means nothing while there is none. */
  lanes: Record<TellLane, LaneState>;
  parked: ParkedState;
}

/** `taken`: another process delivers to it. `idle`: nothing is to be sent now. Safe to repeat. */
export async function takeWebhook(
  store: Store,
  { workspace, id }: Pick<TakenWebhook, 'workspace' | 'id'>,
  { processId, sessionMs }: WebhookOwner,
): Promise<TakenWebhook | 'gone' | 'idle' | 'taken'> {
  const session = workspaceKeys(store.space, workspace).webhookSession(processId);
  const reply = await takeStep(store, {
    ...parkedKeys(store, workspace, id),
    session,
    processId,
    sessionMs,
    lanes: ALL_LANES,
  });
  const [
    outcome,
    createdAtMs,
    all,
    revision = '',
    forgotten = '',
    breaker,
    parkedKeyCount,
    lost,
    wanted = '',
    ...states
  ] = reply;
  const [prompt = '', lists = '', ofReplay = '', ofParked = ''] = states;
  if (outcome !== 'yours') return outcome as 'gone' | 'idle' | 'taken';
  const replay = wanted ? (JSON.parse(wanted) as Replay) : undefined;
  // The version before made endpoints without places in the log. What happened in the same millisecond is for it.
  const first: LaneState = { cursor: `${Number(createdAtMs) - 1}-0` };
  return {
    workspace,
    id,
    processId,
    revision,
    forgotten,
    tellsAll: all === '1',
    breaker: breaker ? JSON.parse(breaker) : {},
    hasParked: Number(parkedKeyCount) > 0,
    lost: Number(lost),
    stored: { prompt, lists, replay: ofReplay, parked: ofParked, wanted },
    ...(replay && { replay }),
    lanes: {
      prompt: prompt ? fromText(prompt) : first,
      lists: lists ? fromText(lists) : first,
      replay: ofReplay ? fromText(ofReplay) : replay ? stateOfReplay(replay) : first,
    },
    parked: ofParked ? fromText(ofParked) : {},
  };
}

/** Whether an endpoint is still as it was taken, and no person was forgotten: between the requests of one claim, each of which may take long. */
export async function isAsTaken(store: Store, taken: TakenWebhook): Promise<boolean> {
  const { workspace, id, processId, revision, forgotten } = taken;
  const { webhook } = parkedKeys(store, workspace, id);
  const fields = ['status', 'revision', 'forgotten', 'owner'] as const;
  const [status, current, nowForgotten, owner] = await store.redis.hmget(webhook, ...fields);
  const isSame = owner === processId && current === revision && (nowForgotten ?? '-') === forgotten;
  return isSame && (status === 'active' || status === 'failing');
}

/** A lane as it is from now on, and what is put aside or taken from there with it. One without a state has come to its end. */
export type LaneWrite = ({ lane: TellLane; state: LaneState | undefined } | { lane: 'parked'; state: ParkedState }) & {
  changes?: readonly ParkedChange[];
  nowMs: number;
};

/** Before the first request. `false`: this process delivers to it no more, or has it as it was before a change. Safe to repeat. */
export async function claimDelivery(store: Store, taken: TakenWebhook, write: LaneWrite): Promise<boolean> {
  const after = toText(write.state);
  const claimed = { ...argumentsOf(store, taken, { ...write, after }), withAll: taken.tellsAll };
  const outcome = await claimStep(store, claimed);
  if (outcome === 'done') note(taken, { ...write, after });
  return outcome === 'done';
}

/**
 * After each request; what others are to be told of the endpoint comes into the log. @param outcome without it the breaker stays as it is.
 * `false`: this process delivers to it no more, and nothing was changed; or has it as it was before a change. Safe to repeat.
 */
export async function settleDelivery(
  store: Store,
  taken: TakenWebhook,
  write: LaneWrite & { state: object },
  { attempt, outcome }: { attempt: WebhookAttempt; outcome?: BreakerOutcome | undefined },
): Promise<boolean> {
  const { workspace, id } = taken;
  const keys = workspaceKeys(store.space, workspace);
  const attempts = keys.webhookAttempts(id);
  const name = makeAttemptId();
  const after = toText(write.state);
  const { sinceMs = attempt.atMs } = taken.breaker;
  // What comes of other lanes before this is answered follows that.
  if (outcome) taken.breaker = outcome.breaker;
  const settled = await settleStep(store, {
    ...argumentsOf(store, taken, { ...write, after }),
    ...{ attempts, times: keys.webhookAttemptTimes(id), log: keys.eventLog },
    ...{ attempt: name, atMs: attempt.atMs, most: WEBHOOK_LIMITS.keptAttempts },
    sealed: store.vault.seal(JSON.stringify(attempt), 'webhookAttempt', `${attempts}/${name}`),
    ...{ breaker: outcome ? JSON.stringify(outcome.breaker) : '', status: outcome?.status ?? '' },
    ...{ tell: outcome?.tell ? `${WEBHOOK_TOLD.indexOf(outcome.tell)}` : '', id },
    ...{ sinceMs, httpStatus: attempt.status ?? 0 },
  });
  if (settled !== 'done') return false;
  note(taken, { ...write, after });
  return true;
}

/**
 * Others have their turn before what is left of the first replay. `waits`: what comes first now was put behind others before, too; `alone`: there is
 * no other. From then on the endpoint is not as it was taken, as where it is `fenced`.
 */
export async function postponeReplay(
  store: Store,
  taken: TakenWebhook,
): Promise<'done' | 'waits' | 'alone' | 'fenced'> {
  const { workspace, id, processId, stored, lanes } = taken;
  const { webhook, replays } = parkedKeys(store, workspace, id);
  const keys = { webhook, replays };
  const outcome = await postponeStep(store, { ...keys, processId, replay: stored.wanted, state: stored.replay });
  // There is nothing of it to go on with.
  if (outcome === 'done' || outcome === 'waits') lanes.replay = { cursor: lanes.replay.cursor };
  return outcome;
}

/**
 * Tells others in the log that an endpoint has failed for long, before its next request. @param breaker as it is from now on.
 * `false`: this process delivers to it no more, or has it as it was before a change. Safe to repeat.
 */
export async function warnOfWebhook(
  store: Store,
  taken: TakenWebhook,
  { breaker, last, nowMs }: { breaker: Breaker; last: WebhookAttempt | undefined; nowMs: number },
): Promise<boolean> {
  const { workspace, id, processId } = taken;
  const keys = workspaceKeys(store.space, workspace);
  const outcome = await warnStep(store, {
    ...{ webhook: keys.webhook(id), log: keys.eventLog, processId, id, atMs: nowMs },
    ...{ before: JSON.stringify(taken.breaker), after: JSON.stringify(breaker) },
    ...{ sinceMs: breaker.sinceMs ?? nowMs, httpStatus: last?.status ?? 0 },
  });
  if (outcome === 'done') taken.breaker = breaker;
  return outcome === 'done';
}

/** `after`: the state, as it is written. */
type Written = LaneWrite & { after: string };

function argumentsOf(store: Store, taken: TakenWebhook, written: Written) {
  const { workspace, id, processId, revision, forgotten, stored } = taken;
  const { lane, after, changes = [], nowMs } = written;
  return {
    ...parkedKeys(store, workspace, id),
    ...{ lane, processId, revision, forgotten, before: stored[lane], after },
    ...{ parksAtMs: nowMs, mostOfOne: WEBHOOK_LIMITS.maxParkedOfOne, mostParked: WEBHOOK_LIMITS.maxParked },
    replay: stored.wanted,
    changes: changes.flatMap((change): ScriptArgument[] => toArguments(change)),
  };
}

/** Each has another name, by which a step is known that Redis carries out twice, or late. */
const toText = (state: object | undefined) =>
  state === undefined ? '' : JSON.stringify({ ...state, write: makeAttemptId() });

function fromText<State extends object>(text: string): State {
  const { write: _, ...state } = JSON.parse(text);
  return state;
}

function note(taken: TakenWebhook, { lane, state, after, changes = [] }: Written): void {
  if (changes.some(({ what }) => what === 'add')) taken.hasParked = true;
  taken.stored[lane] = after;
  if (lane === 'parked') taken.parked = state;
  else if (state) taken.lanes[lane] = state;
}
