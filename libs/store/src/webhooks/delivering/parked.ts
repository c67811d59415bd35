import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { Breaker } from '@gateway/contracts/webhooks/breaker';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import type { ScriptArgument } from '../../core/scripts/define-script.js';
import type { Store } from '../../core/store.js';

/** An event that is put aside, or a change of `messages.updated`: where it is found again. */
export interface ParkedEvent {
  /** Of the log. */
  entry: string;
  /** Of the event, or of the change. */
  id: string;
  type: string;
  /** Of a change: those of one device can be told together. */
  device?: string;
}

/** The failures of an event that was refused alone. */
export interface ParkedClock extends Breaker {
  /** Of HTTP. */
  lastStatus?: number;
}

/** What is put aside for one recipient, or one writer; in order. */
export interface Parked {
  key: string;
  /** Of the first event; empty while it was not refused alone. */
  clock: ParkedClock;
  events: ParkedEvent[];
}

/** What is posted next of what is put aside. */
export type ParkedClaim =
  /** The first so many events of each key. */
  | { keys: readonly (readonly [key: string, count: number])[] }
  /** That so many are lost. */
  | { lost: number; atMs: number };

export interface ParkedState {
  claim?: ParkedClaim;
  /** No more than so many keys at a time: more were refused. */
  most?: number;
  /** In a row, of what was not refused alone before. */
  refusals?: number;
  notBeforeMs?: number;
}

export type ParkedChange =
  | { what: 'add'; key: string; event: ParkedEvent }
  /** The first ones of this key: they were told, or cannot be told. */
  | { what: 'drop'; key: string; count: number }
  /** How many events are lost and were not told: more, or fewer. */
  | { what: 'lose'; count: number }
  | { what: 'wait'; key: string; clock: ParkedClock };

/** For change-parked.lua. */
export function toArguments(change: ParkedChange): ScriptArgument[] {
  switch (change.what) {
    case 'add':
      return ['add', change.key, JSON.stringify(change.event)];
    case 'drop':
      return ['drop', change.key, change.count];
    case 'lose':
      return ['lose', '', change.count];
    case 'wait':
      return [change.clock.nextAttemptMs ?? 'inf', change.key, JSON.stringify(change.clock)];
  }
}

/** Which of these keys have something that is put aside. */
export async function findParkedKeys(
  store: Store,
  { workspace, id }: { workspace: Workspace; id: WebhookId },
  keys: readonly string[],
): Promise<Set<string>> {
  if (keys.length === 0) return new Set();
  const found = await store.redis.hmget(workspaceKeys(store.space, workspace).webhookParked(id), ...keys);
  return new Set(keys.filter((_, i) => found[i] !== null));
}

/** What is due, the longest first: at most so many keys. */
export async function readDue(
  store: Store,
  { workspace, id }: { workspace: Workspace; id: WebhookId },
  { nowMs, most }: { nowMs: number; most: number },
): Promise<Parked[]> {
  const due = workspaceKeys(store.space, workspace).webhookParkedDue(id);
  return readParked(store, { workspace, id }, await store.redis.zrangebyscore(due, '-inf', nowMs, 'LIMIT', 0, most));
}

/** In the order of the keys; those that are gone are left out. */
export async function readParked(
  store: Store,
  { workspace, id }: { workspace: Workspace; id: WebhookId },
  keys: readonly string[],
): Promise<Parked[]> {
  if (keys.length === 0) return [];
  const found = await store.redis.hmget(workspaceKeys(store.space, workspace).webhookParked(id), ...keys);
  return keys.flatMap((key, i) => {
    const [clock, ...events] = found[i]?.split('\n').map((line) => JSON.parse(line)) ?? [];
    return clock ? [{ key, clock, events }] : [];
  });
}

export function parkedKeys(store: Store, workspace: Workspace, id: WebhookId) {
  const keys = workspaceKeys(store.space, workspace);
  return {
    ...{ webhook: keys.webhook(id), parked: keys.webhookParked(id) },
    ...{ due: keys.webhookParkedDue(id), since: keys.webhookParkedSince(id) },
  };
}
