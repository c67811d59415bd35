import type { Cluster, Redis } from 'ioredis';
import { isCluster, masterNodes } from './redis-nodes.js';

/**
 * Calls `handler` when a connection is there again, to the same server or to the one that took its place: the last writes to the former
 * one may be lost. Of a Cluster also when a node is lost, or another one is a master: one that is connected already becomes
 * a master without another sign. Returns a function that ends that.
 */
export function onRegained(client: Redis, handler: () => void): () => void {
  const nodes = new Set<Redis>();
  const watchNode = (node: Redis) => {
    if (!nodes.has(node)) node.on('ready', handler);
    nodes.add(node);
  };
  const forgetNode = (node: Redis) => {
    node.off('ready', handler);
    nodes.delete(node);
  };
  const loseNode = (node: Redis) => {
    forgetNode(node);
    handler();
  };
  let masters = namesOfMasters(client);
  const compareMasters = () => {
    const before = masters;
    masters = namesOfMasters(client);
    if (masters !== before) handler();
  };
  if (isCluster(client)) for (const node of (client as unknown as Cluster).nodes()) watchNode(node);
  const handlers = { '+node': watchNode, '-node': loseNode, refresh: compareMasters, ready: handler };
  for (const [event, each] of Object.entries(handlers)) client.on(event, each);
  return () => {
    for (const [event, each] of Object.entries(handlers)) client.off(event, each);
    for (const node of nodes) forgetNode(node);
  };
}

function namesOfMasters(client: Redis): string {
  const names = masterNodes(client).map(({ options: { host, port } }) => `${host}:${port}`);
  return names.sort().join();
}
