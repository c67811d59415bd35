import type { Cluster, Redis } from 'ioredis';
import { isCluster } from './redis-nodes.js';

/** ioredis looks at these with each command. */
const OF_CONNECTION = { maxRetriesPerRequest: null, commandTimeout: undefined };
const OF_SERVER = { ...OF_CONNECTION, enableOfflineQueue: true };
const OF_CLUSTER = { enableOfflineQueue: true, maxRedirections: Number.MAX_SAFE_INTEGER };

/**
 * Has the commands of a client wait for Redis, however soon they fail otherwise. Returns what ends that: commands that come then fail as
 * the client was made to have them.
 */
export function waitAtFirst(client: Redis): () => void {
  if (!isCluster(client)) return change(client.options, OF_SERVER);
  const cluster = client as unknown as Cluster;
  const back = [change(cluster.options, OF_CLUSTER)];
  const wait = (node: Redis) => void back.push(change(node.options, OF_CONNECTION));
  cluster.on('+node', wait);
  return () => {
    cluster.off('+node', wait);
    for (const restore of back) restore();
  };
}

/** Returns what takes it back. */
function change<Options extends object>(options: Options, changes: Partial<Options>): () => void {
  const before = Object.fromEntries(Object.keys(changes).map((name) => [name, options[name as keyof Options]]));
  Object.assign(options, changes);
  return () => void Object.assign(options, before);
}
