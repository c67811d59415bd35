import { type OwnerQuestion, parseOwnerQuestion } from '@gateway/contracts/devices/owner-questions';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { ringDoorbell } from '../../core/doorbells.js';
import { defineScript, number, text } from '../../core/scripts/define-script.js';
import { oneOf, words } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { MS_PER_DAY } from '../../core/vault.js';
import { WorkspaceGoneError } from '../../core/workspace-gone-error.js';
import type { Ownership } from '../../fleet/ownership.js';

/** Each has up to 1,000 numbers in it. */
const MAX_WAITING = 20;
/** As long as a caller waits for the answer, and no longer: there may be numbers in it. */
const TTL_MS = (LIMITS.contactsWaitSeconds + 5) * 1000;
const COUNTER_TTL_MS = 2 * MS_PER_DAY;

const askStep = defineScript({
  name: 'ask-owner',
  whenFull: 'refused',
  keys: ['questions', 'counter', 'device'],
  args: {
    ...{ id: text, question: text, ttlMs: number, mostWaiting: number },
    ...{ count: number, cap: number, counterTtlMs: number },
  },
  reply: oneOf('asked', 'busy', 'capped', 'gone'),
});
const withdrawStep = defineScript({
  name: 'withdraw-question',
  whenFull: 'runs',
  keys: ['questions', 'answer', 'counter'],
  args: { id: text, count: number, ttlMs: number },
  reply: oneOf('unanswered', 'begun'),
});
const takeStep = defineScript({
  name: 'take-questions',
  whenFull: 'runs',
  isFenced: true,
  keys: ['questions'],
  args: {},
  reply: words,
});
const answerStep = defineScript({
  name: 'answer-question',
  whenFull: 'runs',
  isFenced: true,
  keys: ['answer', 'questions'],
  args: { id: text, field: text, value: text, ttlMs: number },
  reply: oneOf('ok', 'unwanted'),
});

export interface AskedQuestion {
  /** Id of the question and its answer; the same id asks the next owner for what the last one did not answer. */
  id: string;
  question: OwnerQuestion;
  /** How much it counts towards the device's cap of the day. */
  quota?: { count: number; cap: number; nowMs: number };
}

/**
 * `busy`: too many questions wait already. `capped`: it would go over the quota; nothing was counted. Throws `WorkspaceGoneError`, having
 * written nothing, where there is no such device any more.
 */
export async function askOwner(
  store: Store,
  address: DeviceAddress,
  { id, question, quota }: AskedQuestion,
): Promise<'asked' | 'busy' | 'capped'> {
  const keys = deviceKeys(store.space, address);
  const sealed = store.vault.seal(JSON.stringify(question), 'question', placeOf(store, address, id)).toString('base64');
  const { count, cap, nowMs } = quota ?? { count: 0, cap: 0, nowMs: 0 };
  const outcome = await askStep(store, {
    ...{ questions: keys.questions, counter: keys.contactChecks(Math.floor(nowMs / MS_PER_DAY)), device: keys.device },
    ...{ id, question: sealed, ttlMs: TTL_MS, mostWaiting: MAX_WAITING, count, cap, counterTtlMs: COUNTER_TTL_MS },
  });
  if (outcome === 'gone') throw new WorkspaceGoneError();
  await ringDoorbell(store, { topic: 'questions', ...address });
  return outcome;
}

export interface AnswerProgress {
  /** Whether the owner of the device has taken the question, or one that has died since. */
  taken: 'byOwner' | 'byFormerOwner' | undefined;
  /** The owner has too many questions already. */
  isRefused: boolean;
  /** How many parts there are. */
  parts: number;
}

/** How far an answer is, without reading it: callers are woken by each other's doorbells. */
export async function readAnswerProgress(store: Store, address: DeviceAddress, id: string): Promise<AnswerProgress> {
  const keys = deviceKeys(store.space, address);
  // Counted first: what is written between the two looks is then no part too many.
  const [fields, [taken, refused], ownership] = await Promise.all([
    store.redis.hlen(keys.answer(id)),
    store.redis.hmget(keys.answer(id), 'taken', 'refused'),
    store.redis.get(keys.owner),
  ]);
  const isRefused = refused != null;
  const parts = Math.max(0, fields - (taken != null ? 1 : 0) - (isRefused ? 1 : 0));
  if (taken == null) return { taken: undefined, isRefused, parts };
  return { taken: taken === ownership ? 'byOwner' : 'byFormerOwner', isRefused, parts };
}

/** The parts of an answer that there are, by name. */
export async function readAnswerParts(store: Store, address: DeviceAddress, id: string): Promise<Map<string, string>> {
  const { taken, refused, ...parts } = await store.redis.hgetall(deviceKeys(store.space, address).answer(id));
  return new Map(Object.entries(parts));
}

/**
 * Withdraws a question and its count, if no owner has begun to answer it; returns whether that was so. Safe to repeat, also by the client itself when the first answer was lost.
 */
export async function withdrawQuestion(
  store: Store,
  address: DeviceAddress,
  { id, quota }: Pick<AskedQuestion, 'id' | 'quota'>,
): Promise<boolean> {
  const keys = deviceKeys(store.space, address);
  const counter = keys.contactChecks(Math.floor((quota?.nowMs ?? 0) / MS_PER_DAY));
  const asked = { questions: keys.questions, answer: keys.answer(id), counter };
  return (await withdrawStep(store, { ...asked, id, count: quota?.count ?? 0, ttlMs: TTL_MS })) === 'unanswered';
}

/** The answer is not waited for any more: an owner that works on it may stop. Safe to repeat. */
export async function forgetQuestion(
  store: Store,
  address: DeviceAddress,
  asked: Pick<AskedQuestion, 'id' | 'quota'>,
): Promise<void> {
  const isGone = await withdrawQuestion(store, address, asked);
  if (!isGone) await store.redis.unlink(deviceKeys(store.space, address).answer(asked.id));
}

export interface TakenQuestion {
  id: string;
  /** `undefined`: asked by another version, or not to be opened. */
  question: OwnerQuestion | undefined;
}

/** The owner takes all waiting questions, and announces it: one call at a time. Throws `FencedError` for a stale owner. */
export async function takeQuestions(store: Store, ownership: Ownership): Promise<TakenQuestion[]> {
  const flat = await takeStep(store, ownership, { questions: deviceKeys(store.space, ownership.address).questions });
  const questions: TakenQuestion[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [id, sealed] = flat.slice(i, i + 2) as [string, string];
    questions.push({ id, question: open(store, ownership.address, { id, sealed }) });
  }
  const areWanted = await Promise.all(
    questions.map(({ id }) => writeOwnerAnswer(store, ownership, { id, part: 'taken', value: ownership.token })),
  );
  return questions.filter((_, i) => areWanted[i]);
}

/** Whether a caller still waits for the answer. Rings when it is written. Throws `FencedError` for a stale owner. */
export async function writeOwnerAnswer(
  store: Store,
  ownership: Ownership,
  { id, part, value }: { id: string; part: string; value: string },
): Promise<boolean> {
  const { answer, questions } = deviceKeys(store.space, ownership.address);
  const places = { answer: answer(id), questions };
  const outcome = await answerStep(store, ownership, { ...places, id, field: part, value, ttlMs: TTL_MS });
  if (outcome === 'ok') await ringDoorbell(store, { topic: 'answers', ...ownership.address });
  return outcome === 'ok';
}

function open(
  store: Store,
  address: DeviceAddress,
  { id, sealed }: { id: string; sealed: string },
): OwnerQuestion | undefined {
  try {
    const plain = store.vault.open(Buffer.from(sealed, 'base64'), 'question', placeOf(store, address, id));
    return parseOwnerQuestion(plain.toString());
  } catch {
    return undefined;
  }
}

function placeOf(store: Store, address: DeviceAddress, id: string): string {
  return `${deviceKeys(store.space, address).questions}:${id}`;
}
