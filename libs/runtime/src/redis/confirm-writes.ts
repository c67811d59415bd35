import type { Redis } from 'ioredis';
import { GatewayError } from '../errors.js';
import { masterOfKey } from './redis-nodes.js';

/**
 * Resolves once replicas have all that was written in the slot of this key until now.
 * @throws `not_confirmed` when they do not say so in time: what was written may be lost with its master, or not.
 */
export type ConfirmWrites = (key: string) => Promise<void>;

/** Without `REDIS_WAIT_REPLICAS` the reply of the master is enough. */
export const confirmNothing: ConfirmWrites = async () => {};

const TIMEOUT_MS = 1_000;
const MARK_TTL_MS = 1_000;
const TAG = /^.*?\{[^}]+\}/;

interface Batch {
  running: Promise<void> | undefined;
  /** Of those whose writes came too late for the running one. */
  next: Promise<void> | undefined;
}

/**
 * Asks Redis to wait for replicas (`WAIT`), once for all who ask in the meantime.
 *
 * `WAIT` counts from the last write of its own connection, and holds that connection up. So it has a connection of its own, and
 * writes a mark first: replicas that have the mark have all that was written before it, by whichever process.
 * @param redis only for this; fails fast.
 */
export function confirmByReplicas(redis: Redis, replicas: number): ConfirmWrites {
  const batches = new Map<string, Batch>();

  async function ask(tag: string): Promise<void> {
    const mark = `${tag}:written`;
    const node = masterOfKey(redis, mark);
    // Both on one connection: a node that the slot has left refuses the mark.
    const [marked, waited] =
      (await node.pipeline().set(mark, '', 'PX', MARK_TTL_MS).wait(replicas, TIMEOUT_MS).exec()) ?? [];
    const error = marked?.[0] ?? waited?.[0];
    if (error) throw notConfirmed(error);
    if (Number(waited?.[1]) < replicas) throw notConfirmed(new Error(`${waited?.[1]} of ${replicas} replicas`));
  }

  function begin(tag: string, batch: Batch): Promise<void> {
    const running = ask(tag).finally(() => {
      if (batch.running === running) batch.running = undefined;
      if (!batch.next) batches.delete(tag);
    });
    batch.running = running;
    return running;
  }

  return (key) => {
    const tag = TAG.exec(key)![0];
    const batch = batches.get(tag) ?? { running: undefined, next: undefined };
    batches.set(tag, batch);
    if (!batch.running) return begin(tag, batch);
    batch.next ??= batch.running
      .catch(() => {})
      .then(() => {
        batch.next = undefined;
        return begin(tag, batch);
      });
    return batch.next;
  };
}

function notConfirmed(cause: Error): GatewayError {
  return new GatewayError({ code: 'not_confirmed', message: 'replicas of Redis have not confirmed a write', cause });
}
