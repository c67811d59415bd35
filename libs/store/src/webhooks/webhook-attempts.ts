import { makeAttemptId, type Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import {
  WEBHOOK_LIMITS,
  type WebhookAttempt,
  type WebhookId,
  type WebhookStatus,
} from '@gateway/contracts/webhooks/webhook';
import { writeTogether } from '../core/confirming/write-together.js';
import { bytes, defineScript, number, text } from '../core/scripts/define-script.js';
import { nothing } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import { ringEventBell } from '../events/event-bells.js';
import { ALL_LANES } from './delivering/lanes.js';
import { endLongWaits } from './delivering/parked/parked.js';

const recordStep = defineScript({
  name: 'record-attempt',
  whenFull: 'runs',
  keys: ['webhook', 'attempts', 'times'],
  args: {
    ...{ attempt: text, atMs: number, sealed: bytes, most: number },
    ...{ forgotten: text, verifiesRevision: text, '...lanes': text },
  },
  reply: (reply) => reply as WebhookStatus | 'gone',
});

/**
 * Keeps an attempt; 200 of an endpoint are kept. @param forgotten as its endpoint was taken: it is not kept if a person was forgotten since.
 * @param verifiesRevision of an endpoint that has passed its test as it was then: it
 * becomes active if it is `unverified` and unchanged; one that is failing is posted to at once, and what is put aside is due. Answers its status. Safe to repeat.
 */
export async function recordAttempt(
  store: Store,
  workspace: Workspace,
  id: WebhookId,
  {
    attempt,
    forgotten = '',
    verifiesRevision = '',
  }: { attempt: WebhookAttempt; forgotten?: string; verifiesRevision?: string | undefined },
): Promise<WebhookStatus | 'gone'> {
  const keys = workspaceKeys(store.space, workspace);
  const name = makeAttemptId();
  const attempts = keys.webhookAttempts(id);
  const input = {
    ...{ webhook: keys.webhook(id), attempts, times: keys.webhookAttemptTimes(id), attempt: name, atMs: attempt.atMs },
    sealed: store.vault.seal(JSON.stringify(attempt), 'webhookAttempt', `${attempts}/${name}`),
    ...{ most: WEBHOOK_LIMITS.keptAttempts, forgotten, verifiesRevision, lanes: ALL_LANES },
  };
  if (verifiesRevision === '') return recordStep(store, input);
  const status = await writeTogether(store, keys.webhook(id), async () => {
    const recorded = await recordStep(store, input);
    // What it refused before says nothing of how it is now, perhaps at another URL.
    if (recorded !== 'gone')
      await endLongWaits(store, { workspace, id }, { nowMs: attempt.atMs, longestMs: attempt.atMs });
    return recorded;
  });
  if (status !== 'gone') await ringEventBell(store, workspace);
  return status;
}

/** The newest first, without those that cannot be opened here. */
export async function listAttempts(
  store: Store,
  workspace: Workspace,
  id: WebhookId,
  limit: number,
): Promise<WebhookAttempt[]> {
  const keys = workspaceKeys(store.space, workspace);
  const names = await store.redis.zrevrange(keys.webhookAttemptTimes(id), 0, limit - 1);
  if (names.length === 0) return [];
  const key = keys.webhookAttempts(id);
  const sealed = await store.redis.hmgetBuffer(key, ...names);
  return names.flatMap((name, i) => {
    const value = sealed[i];
    return (value && openAttempt(store, `${key}/${name}`, value)) ?? [];
  });
}

function openAttempt(store: Store, place: string, sealed: Buffer): WebhookAttempt | undefined {
  try {
    return JSON.parse(store.vault.open(sealed, 'webhookAttempt', place).toString());
  } catch {
    return undefined;
  }
}

const forgetStep = defineScript({
  name: 'forget-in-webhook',
  whenFull: 'runs',
  keys: ['webhook'],
  args: { name: text },
  reply: nothing,
});

/**
 * To be called last, when nothing else is stored about a person: what endpoints are told from then on is read anew. Removes the attempts whose answer names a person, as endpoints may answer with what they were told, and those that cannot be opened,
 * which may. Answers how many those were; safe to repeat. @param names digits of numbers and of hidden identifiers.
 */
export async function forgetInAttempts(
  store: Store,
  workspace: Workspace,
  names: ReadonlySet<string>,
): Promise<number> {
  const { webhook, webhooks, webhookAttempts } = workspaceKeys(store.space, workspace);
  let removed = 0;
  for (const id of await store.redis.smembers(webhooks)) {
    await forgetStep(store, { webhook: webhook(id), name: makeAttemptId() });
    const key = webhookAttempts(id);
    const attempts = Object.entries(await store.redis.hgetallBuffer(key));
    const found = attempts.filter(([name, sealed]) => mayName(store, `${key}/${name}`, { sealed, names }));
    if (found.length > 0) removed += await store.redis.hdel(key, ...found.map(([name]) => name));
  }
  await ringEventBell(store, workspace);
  return removed;
}

function mayName(
  store: Store,
  place: string,
  { sealed, names }: { sealed: Buffer; names: ReadonlySet<string> },
): boolean {
  const attempt = openAttempt(store, place, sealed);
  const digits = attempt?.answer.replaceAll(/\D/g, '');
  if (digits === undefined) return true;
  return [...names].some((name) => digits.includes(name) || endsWithin(digits, name));
}

/** Of a number so many digits are no name yet: those of a country, and of a network in it. */
const FIRST_DIGITS = 5;

/** Only the beginning of an answer is kept: it may end within a number. */
function endsWithin(digits: string, name: string): boolean {
  for (let kept = name.length - 1; kept >= FIRST_DIGITS; kept--) if (digits.endsWith(name.slice(0, kept))) return true;
  return false;
}
