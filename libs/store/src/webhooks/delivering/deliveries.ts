import { WEBHOOK_TOLD } from '@gateway/contracts/events/entry';
import { makeAttemptId, type Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { Breaker, BreakerOutcome } from '@gateway/contracts/webhooks/breaker';
import { WEBHOOK_LIMITS, type WebhookAttempt, type WebhookId } from '@gateway/contracts/webhooks/webhook';
import { bytes, defineScript, number, text } from '../../core/scripts/define-script.js';
import { oneOf, words } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';

/**
 * Beside each other, so that nothing urgent waits for a list: `prompt` is told at once (one-time passwords, small sends, what people
 * write, devices, opt-outs), of `lists` changes are gathered.
 */
export const LANES = ['prompt', 'lists'] as const;
export type Lane = (typeof LANES)[number];

/** Where a lane is in the log. */
export interface LaneState {
  /** All up to here has been told. */
  cursor: string;
  /** What is being told: from the cursor to here. */
  claim?: { to: string; refusals: number };
  /** No more than so many changes in a request: it had more, and that was too much. */
  most?: number;
}

/** Longer than one request may take: until then no other process posts to the endpoint. */
const LEASE_MS = 2 * WEBHOOK_LIMITS.timeoutMs;

const WRITES = { lane: text, token: text, leaseMs: number, before: text, after: text };
const REPLY = oneOf('done', 'fenced', 'idle');
const takeStep = defineScript({
  name: 'take-webhook',
  whenFull: 'runs',
  keys: ['webhook'],
  args: { token: text, leaseMs: number, '...lanes': text },
  reply: words,
});
const claimStep = defineScript({
  name: 'claim-delivery',
  whenFull: 'runs',
  keys: ['webhook'],
  args: WRITES,
  reply: REPLY,
});
const settleStep = defineScript({
  name: 'settle-delivery',
  whenFull: 'runs',
  keys: ['webhook', 'attempts', 'times', 'log'],
  args: {
    ...{ ...WRITES, breaker: text, status: text, attempt: text, atMs: number, sealed: bytes, most: number },
    ...{ tell: text, id: text, sinceMs: number, httpStatus: number },
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
  /** As they are in Redis, exactly; '' for one that is new. */
  stored: Record<Lane, string>;
  lanes: Record<Lane, LaneState>;
}

/** `taken`: another process delivers to it. `idle`: nothing is to be sent now. Safe to repeat. */
export async function takeWebhook(
  store: Store,
  { workspace, id, token }: Pick<TakenWebhook, 'workspace' | 'id' | 'token'>,
): Promise<TakenWebhook | 'gone' | 'idle' | 'taken'> {
  const webhook = workspaceKeys(store.space, workspace).webhook(id);
  const [outcome, createdAtMs, breaker, ...states] = await takeStep(store, {
    webhook,
    token,
    leaseMs: LEASE_MS,
    lanes: LANES,
  });
  if (outcome !== 'yours') return outcome as 'gone' | 'idle' | 'taken';
  // What happened in the same millisecond is for it.
  const first: LaneState = { cursor: `${Number(createdAtMs) - 1}-0` };
  const stored = Object.fromEntries(LANES.map((lane, i) => [lane, states[i]!])) as Record<Lane, string>;
  const lanes = Object.fromEntries(LANES.map((lane) => [lane, stored[lane] === '' ? first : JSON.parse(stored[lane])]));
  return {
    ...{ workspace, id, token, stored, breaker: breaker ? JSON.parse(breaker) : {} },
    lanes: lanes as Record<Lane, LaneState>,
  };
}

/** Before the first request. `false`: this process delivers to it no more. Safe to repeat. */
export async function claimDelivery(store: Store, taken: TakenWebhook, lane: Lane, state: LaneState): Promise<boolean> {
  const { webhook } = keysOf(store, taken);
  const after = JSON.stringify(state);
  const outcome = await claimStep(store, { webhook, ...writeOf(taken, lane, after) });
  if (outcome === 'done') note(taken, lane, { state, after });
  return outcome === 'done';
}

/** After each request; what others are to be told of the endpoint comes into the log. `false`: this process delivers to it no more, and nothing was changed. Safe to repeat. */
export async function settleDelivery(
  store: Store,
  taken: TakenWebhook,
  lane: Lane,
  { state, attempt, outcome }: { state: LaneState; attempt: WebhookAttempt; outcome: BreakerOutcome },
): Promise<boolean> {
  const keys = keysOf(store, taken);
  const name = makeAttemptId();
  const after = JSON.stringify(state);
  const tell = outcome.tell ? `${WEBHOOK_TOLD.indexOf(outcome.tell)}` : '';
  const sinceMs = taken.breaker.sinceMs ?? attempt.atMs;
  const settled = await settleStep(store, {
    ...{ ...keys, log: workspaceKeys(store.space, taken.workspace).eventLog },
    ...{ tell, id: taken.id, sinceMs, httpStatus: attempt.status ?? 0 },
    ...{ ...writeOf(taken, lane, after), attempt: name, atMs: attempt.atMs },
    ...{ breaker: JSON.stringify(outcome.breaker), status: outcome.status, most: WEBHOOK_LIMITS.keptAttempts },
    sealed: store.vault.seal(JSON.stringify(attempt), 'webhookAttempt', `${keys.attempts}/${name}`),
  });
  if (settled !== 'done') return false;
  note(taken, lane, { state, after });
  taken.breaker = outcome.breaker;
  return true;
}

function writeOf({ token, stored }: TakenWebhook, lane: Lane, after: string) {
  return { lane, token, leaseMs: LEASE_MS, before: stored[lane], after };
}

function note(taken: TakenWebhook, lane: Lane, { state, after }: { state: LaneState; after: string }): void {
  taken.stored[lane] = after;
  taken.lanes[lane] = state;
}

function keysOf(store: Store, { workspace, id }: TakenWebhook) {
  const keys = workspaceKeys(store.space, workspace);
  return { webhook: keys.webhook(id), attempts: keys.webhookAttempts(id), times: keys.webhookAttemptTimes(id) };
}
