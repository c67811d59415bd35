import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import type { Connections } from '@gateway/runtime/redis/server-of';
import type { Store } from '../store.js';
import { connectionFor } from './write-together.js';

/**
 * By which connection is read in the slot of a key what a promise in another slot is given by: to be confirmed as well, for a master of a
 * Cluster that was replaced answers for seconds more. `undefined` where that is not asked: without replicas that are waited for, and with
 * one master, which is confirmed with the promise.
 */
export async function readerElsewhere({ redis, asksReplicas }: Store, key: string): Promise<Connections | undefined> {
  if (!asksReplicas || !isCluster(redis)) return undefined;
  // Another master is known by its connection: what it calls its data is not worth a command for each reading.
  return connectionFor({ redis, asksReplicas: false }, key);
}
