import { WEBHOOK_TOLD } from '@gateway/contracts/events/entry';
import { makeAttemptId, type Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { Breaker, BreakerOutcome } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS, type WebhookAttempt, type WebhookId } from '@gateway/contracts/webhooks/webhook';
import { bytes, defineScript, mixed, number, type ScriptArgument, text } from '../../core/scripts/define-script.js';
import { oneOf, words } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { type ParkedChange, type ParkedState, parkedKeys, toArguments } from './parked.js';

/**
 * Beside each other, so that nothing urgent waits for a list: `prompt` is told at once (one-time passwords, small sends, what people
 * write, devices, opt-outs), of `lists` changes are gathered.
 */
export const LANES = ['prompt', 'lists'] as const;
export type Lane = (typeof LANES)[number];

/** A part of a lane that is being told: up to here, without what was put aside: all that has one of these keys. */
export interface LaneRange {
  to: string;
  without?: readonly string[];
}

/** What comes behind a claim, without all that has a key of what is in it; or of the claim itself what has this one key. */
export type Probe = LaneRange | { only: string };

/** From the cursor of a lane on. */
export interface LaneClaim extends LaneRange {
  /** How often something was answered that is no success. */
  refusals: number;
  /** Not again before, whatever becomes of other requests. */
  notBeforeMs?: number;
  /** Posted to find out whether only this one is refused. */
  probe?: Probe;
  /** The `refusals` when the last probe was refused, too. */
  probedAt?: number;
}

/** Where a lane is in the log. */
export interface LaneState {
  /** All up to here has been told, or put aside. */
  cursor: string;
  claim?: LaneClaim;
  /** No more than so many changes in a request: it had more, and that was too much. */
  most?: number;
}

/** Longer than one request may take: until then no other process posts to the endpoint. */
const LEASE_MS = 2 * WEBHOOK_LIMITS.timeoutMs;

const KEYS = ['webhook', 'parked', 'due', 'since'] as const;
const WRITES = {
  ...{ lane: text, token: text, leaseMs: number, before: text, after: text },
  ...{ parksAtMs: number, mostParked: number },
};
const CHANGES = { '...changes': mixed };
const REPLY = oneOf('done', 'fenced', 'idle');
const takeStep = defineScript({
  name: 'take-webhook',
  whenFull: 'runs',
  keys: ['webhook', 'parked'],
  args: { token: text, leaseMs: number, '...lanes': text },
  reply: words,
});
const claimStep = defineScript({
  name: 'claim-delivery',
  whenFull: 'runs',
  keys: KEYS,
  args: { ...WRITES, ...CHANGES },
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

/** One endpoint as the process that delivers to it has it. */
export interface TakenWebhook {
  workspace: Workspace;
  id: WebhookId;
  /** Of the process. */
  token: string;
  breaker: Breaker;
  /** Something is put aside. */
  hasParked: boolean;
  /** So many events that were put aside are lost, and that was not told. */
  lost: number;
  /** As they are in Redis, exactly; '' for one that is new. */
  stored: Record<Lane | 'parked', string>;
  lanes: Record<Lane, LaneState>;
  parked: ParkedState;
}

/** `taken`: another process delivers to it. `idle`: nothing is to be sent now. Safe to repeat. */
export async function takeWebhook(
  store: Store,
  { workspace, id, token }: Pick<TakenWebhook, 'workspace' | 'id' | 'token'>,
): Promise<TakenWebhook | 'gone' | 'idle' | 'taken'> {
  const { webhook, parked } = parkedKeys(store, workspace, id);
  const lanes = [...LANES, 'parked'];
  const reply = await takeStep(store, { webhook, parked, token, leaseMs: LEASE_MS, lanes });
  const [outcome, createdAtMs, breaker, parkedKeyCount, lost, prompt = '', lists = '', ofParked = ''] = reply;
  if (outcome !== 'yours') return outcome as 'gone' | 'idle' | 'taken';
  // What happened in the same millisecond is for it.
  const first: LaneState = { cursor: `${Number(createdAtMs) - 1}-0` };
  return {
    ...{ workspace, id, token, breaker: breaker ? JSON.parse(breaker) : {} },
    ...{ hasParked: Number(parkedKeyCount) > 0, lost: Number(lost), stored: { prompt, lists, parked: ofParked } },
    lanes: { prompt: prompt ? JSON.parse(prompt) : first, lists: lists ? JSON.parse(lists) : first },
    parked: ofParked ? JSON.parse(ofParked) : {},
  };
}

/** A lane as it is from now on, and what is put aside or taken from there with it. */
export type LaneWrite = ({ lane: Lane; state: LaneState } | { lane: 'parked'; state: ParkedState }) & {
  changes?: readonly ParkedChange[];
  nowMs: number;
};

/** Before the first request. `false`: this process delivers to it no more. Safe to repeat. */
export async function claimDelivery(store: Store, taken: TakenWebhook, write: LaneWrite): Promise<boolean> {
  const outcome = await claimStep(store, argumentsOf(store, taken, write));
  if (outcome === 'done') note(taken, write);
  return outcome === 'done';
}

/**
 * After each request; what others are to be told of the endpoint comes into the log. @param outcome without it the breaker stays as it is.
 * `false`: this process delivers to it no more, and nothing was changed. Safe to repeat.
 */
export async function settleDelivery(
  store: Store,
  taken: TakenWebhook,
  write: LaneWrite,
  { attempt, outcome }: { attempt: WebhookAttempt; outcome?: BreakerOutcome | undefined },
): Promise<boolean> {
  const { workspace, id } = taken;
  const keys = workspaceKeys(store.space, workspace);
  const attempts = keys.webhookAttempts(id);
  const name = makeAttemptId();
  const settled = await settleStep(store, {
    ...argumentsOf(store, taken, write),
    ...{ attempts, times: keys.webhookAttemptTimes(id), log: keys.eventLog },
    ...{ attempt: name, atMs: attempt.atMs, most: WEBHOOK_LIMITS.keptAttempts },
    sealed: store.vault.seal(JSON.stringify(attempt), 'webhookAttempt', `${attempts}/${name}`),
    ...{ breaker: outcome ? JSON.stringify(outcome.breaker) : '', status: outcome?.status ?? '' },
    ...{ tell: outcome?.tell ? `${WEBHOOK_TOLD.indexOf(outcome.tell)}` : '', id },
    ...{ sinceMs: taken.breaker.sinceMs ?? attempt.atMs, httpStatus: attempt.status ?? 0 },
  });
  if (settled !== 'done') return false;
  note(taken, write);
  if (outcome) taken.breaker = outcome.breaker;
  return true;
}

function argumentsOf(store: Store, { workspace, id, token, stored }: TakenWebhook, write: LaneWrite) {
  const { lane, state, changes = [], nowMs } = write;
  return {
    ...parkedKeys(store, workspace, id),
    ...{ lane, token, leaseMs: LEASE_MS, before: stored[lane], after: JSON.stringify(state) },
    ...{ parksAtMs: nowMs, mostParked: WEBHOOK_LIMITS.maxParked },
    changes: changes.flatMap((change): ScriptArgument[] => toArguments(change)),
  };
}

function note(taken: TakenWebhook, { lane, state, changes = [] }: LaneWrite): void {
  if (changes.some(({ what }) => what === 'add')) taken.hasParked = true;
  taken.stored[lane] = JSON.stringify(state);
  if (lane === 'parked') taken.parked = state as ParkedState;
  else taken.lanes[lane] = state as LaneState;
}
