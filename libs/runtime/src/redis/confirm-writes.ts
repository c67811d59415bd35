import type { Redis } from 'ioredis';
import { systemClock } from '../clock.js';
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
/** Longer than Sentinels take, from the order to a replica until their clients hear of the new master. */
const LEFT_MS = 5_000;
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
  const watches = new WeakMap<Redis, ReplicaWatch>();

  async function ask(tag: string): Promise<void> {
    const mark = `${tag}:written`;
    const node = masterOfKey(redis, mark);
    // Both on one connection: a node that the slot has left refuses the mark.
    const pipeline = node.pipeline().set(mark, '', 'PX', MARK_TTL_MS).wait(replicas, TIMEOUT_MS).role();
    const [marked, waited, role] = (await pipeline.exec()) ?? [];
    const error = marked?.[0] ?? waited?.[0] ?? role?.[0];
    if (error) throw notConfirmed(error);
    if (Number(waited?.[1]) < replicas) throw notConfirmed(new Error(`${waited?.[1]} of ${replicas} replicas`));
    if (watchOf(node).hasLost(replicasIn(role?.[1]))) throw notConfirmed(new Error('a replica has left'));
  }

  function watchOf(node: Redis): ReplicaWatch {
    const known = watches.get(node);
    if (known) return known;
    const watch = new ReplicaWatch();
    watches.set(node, watch);
    // The next connection may lead to another server.
    node.on('close', () => watch.forget());
    return watch;
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

/**
 * The replicas of a master. One that leaves may have been made the next master, with this one still taking writes and the others
 * still confirming them, until they hear of it: what they confirm meanwhile is lost. When it only stopped, the others confirm again
 * after a while. `ROLE` comes after `WAIT`, so the end of its connection is known by then.
 */
class ReplicaWatch {
  private readonly known = new Set<string>();
  private leftAtMs = Number.NEGATIVE_INFINITY;

  /** Whether one has left lately. @param present all that are there, by address. */
  hasLost(present: readonly string[]): boolean {
    const nowMs = systemClock.monotonicMs();
    for (const name of this.known) {
      if (present.includes(name)) continue;
      this.known.delete(name);
      this.leftAtMs = nowMs;
    }
    for (const name of present) this.known.add(name);
    return nowMs - this.leftAtMs < LEFT_MS;
  }

  forget(): void {
    this.known.clear();
    this.leftAtMs = Number.NEGATIVE_INFINITY;
  }
}

/** By address, of the answer to `ROLE`. */
function replicasIn(role: unknown): string[] {
  const [, , replicas = []] = role as [role: string, offset: number, replicas?: [host: string, port: string][]];
  return replicas.map(([host, port]) => `${host}:${port}`);
}

function notConfirmed(cause: Error): GatewayError {
  return new GatewayError({ code: 'not_confirmed', message: 'replicas of Redis have not confirmed a write', cause });
}
