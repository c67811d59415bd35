import type { Cluster, Redis } from 'ioredis';
import { isCluster } from './redis-nodes.js';

/**
 * Calls `handler` when a connection is there again, to the same server or to the one that took its place: the last writes to the former
 * one may be lost. Of a Cluster also when the first connection to one of its nodes is there. Returns a function that ends that.
 */
export function onRegained(client: Redis, handler: () => void): () => void {
  const nodes = new Set<Redis>();
  const watchNode = (node: Redis) => {
    if (!nodes.has(node)) node.on('ready', handler);
    nodes.add(node);
  };
  if (isCluster(client)) for (const node of (client as unknown as Cluster).nodes()) watchNode(node);
  client.on('+node', watchNode);
  client.on('-node', forgetNode);
  client.on('ready', handler);
  return () => {
    for (const node of nodes) forgetNode(node);
    client.off('+node', watchNode);
    client.off('-node', forgetNode);
    client.off('ready', handler);
  };

  function forgetNode(node: Redis): void {
    node.off('ready', handler);
    nodes.delete(node);
  }
}
