import { randomUUID } from 'node:crypto';
import { instanceKeys, type KeySpace } from '@gateway/contracts/redis-keys';
import { sleep, systemClock } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import { publishBeside } from '@gateway/runtime/redis/redis-nodes';
import type { Redis } from 'ioredis';
import { defineScript, number, text } from '../../core/scripts/define-script.js';
import { isOne, words } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { endSessions, type Session } from '../ownership.js';

/** How long a process that has the name may take to say so: on a busy machine that was more than half a second. */
const ANSWER_MS = 2_000;
const LOOK_EVERY_MS = 25;
const ANSWER_TTL_MS = 5_000;
const CHECK_EVERY_MS = 2_500;

const takeStep = defineScript({
  name: 'take-instance',
  whenFull: 'runs',
  keys: ['instance'],
  args: { former: text, processId: text },
  reply: words,
});
const noteSessionStep = defineScript({
  name: 'note-session',
  whenFull: 'runs',
  keys: ['instance'],
  args: { processId: text, shard: number, sessionId: text },
  reply: isOne,
});
const leaveStep = defineScript({
  name: 'leave-instance',
  whenFull: 'runs',
  keys: ['instance'],
  args: { processId: text },
  reply: isOne,
});

/** The name under which a process starts again after it died. */
export interface Instance {
  /** The process that had the name, and did not give it back: it died. */
  formerProcessId: string | undefined;
  /** To be awaited before a session begins: the next process of this name will end it. Throws when that one is here already. */
  noteSession(session: Session): Promise<void>;
  /** Gives the name back. Safe to repeat. */
  leave(): Promise<void>;
}

export interface InstanceDeps {
  store: Store;
  /** A connection for subscriptions. */
  subscriber: Redis;
  processId: string;
  /** Another process has the name now: this one must end. Called once. */
  onDisplaced: (error: Error) => void;
}

/**
 * Takes a name, and ends the sessions of the process that died with it: its devices need not wait until these have run
 * out. Throws `instance_in_use` when that process lives. It is asked first: one that was only frozen, and wakes up, finds
 * its sessions ended and its name taken, and never gets either back.
 */
export async function takeInstance(deps: InstanceDeps, name: string): Promise<Instance> {
  const { store, subscriber, processId, onDisplaced } = deps;
  const { instance, channel } = instanceKeys(store.space, name);
  const isOurs = async () => (await store.redis.hget(instance, 'process')) === processId;
  const displaced = () =>
    new GatewayError({ code: 'instance_taken', message: `another process took the name ${name}` });

  const onMessage = (from: string, question: string) => {
    if (from !== channel) return;
    void isOurs()
      .then((ours) =>
        ours ? store.redis.set(answerKey(store.space, name, question), '', 'PX', ANSWER_TTL_MS) : undefined,
      )
      .catch(() => {});
  };
  subscriber.on('message', onMessage);
  await subscriber.subscribe(channel);

  const former = await store.redis.hget(instance, 'process');
  if (former && (await answers(store, name))) throw inUse(name);
  const taken = await takeStep(store, { instance, former: former ?? '', processId });
  if (taken[0] !== 'taken') throw inUse(name);
  const left = sessionsOf(taken.slice(1));
  await endSessions(store, left);

  const timer = setInterval(async () => {
    if (await isOurs().catch(() => true)) return;
    clearInterval(timer);
    onDisplaced(displaced());
  }, CHECK_EVERY_MS).unref();
  return {
    formerProcessId: former ?? undefined,
    noteSession: async ({ shard, id }) => {
      if (!(await noteSessionStep(store, { instance, processId, shard, sessionId: id }))) throw displaced();
    },
    leave: async () => {
      clearInterval(timer);
      subscriber.off('message', onMessage);
      await leaveStep(store, { instance, processId });
    },
  };
}

/** Whether the process that has the name answers. */
async function answers({ redis, space }: Store, name: string): Promise<boolean> {
  const question = randomUUID();
  const deadlineMs = systemClock.monotonicMs() + ANSWER_MS;
  const { instance, channel } = instanceKeys(space, name);
  await publishBeside(redis, instance, [channel, question]);
  while (systemClock.monotonicMs() < deadlineMs) {
    if ((await redis.exists(answerKey(space, name, question))) === 1) return true;
    await sleep(LOOK_EVERY_MS);
  }
  return false;
}

function answerKey(space: KeySpace, name: string, question: string): string {
  return instanceKeys(space, name).answer(question);
}

function sessionsOf(flat: readonly string[]): Session[] {
  return flat.flatMap((field, i) =>
    i % 2 === 0 && field !== 'process' ? [{ shard: Number(field), id: flat[i + 1]! }] : [],
  );
}

function inUse(name: string): GatewayError {
  return new GatewayError({
    code: 'instance_in_use',
    message: `INSTANCE_NAME in use: a process named ${name} is running`,
  });
}
