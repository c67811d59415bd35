import type { Redis } from 'ioredis';
import { sleep, systemClock } from '../clock.js';

type Stream = Redis['stream'];

const TIMEOUT_MS = 1_000;
/** A caller has an answer in three seconds, and a command two. */
const LATE_MS = 500;
const known = new WeakMap<Stream, Promise<string | undefined>>();

/**
 * The server to which this connection leads now, by the id of its run. `undefined` when there is none, or it does not say so in time.
 * It is asked once for each connection: a server keeps its id until it ends, and a connection its server.
 */
export function serverOf(node: Redis): Promise<string | undefined> {
  const { status, stream } = node;
  if (status !== 'ready') return Promise.resolve(undefined);
  const asked = known.get(stream) ?? ask(node, stream);
  known.set(stream, asked);
  return asked;
}

/** Connections, as they were at some time, each with what its server called its data then: a master that was another one's replica calls it anew. */
export type Connections = ReadonlyMap<Stream, Promise<string | undefined> | undefined>;

/**
 * Those that lead to these servers now; of one that is not there yet, once it is. Who finds one of them in use later has written to one
 * server all the time. Another master is reached by a new connection; and so is the same one after another, unless its cluster was told to
 * replace it, and to take it back.
 * Throws where one could not be reached, and that took long: what is asked of it behind this would take long, too.
 * @param asksHistory whether it is worth a command to find that out. It comes before all that is written behind this.
 */
export async function connectionsTo(
  nodes: readonly Redis[],
  { asksHistory }: { asksHistory: boolean },
): Promise<Connections> {
  // A client of a Cluster connects to a node when it asks it for something.
  await Promise.all(nodes.map((node) => (node.status === 'ready' ? undefined : reach(node))));
  return new Map(nodes.map((node) => [node.stream, asksHistory ? historyOf(node) : undefined]));
}

async function reach(node: Redis): Promise<void> {
  const fromMs = systemClock.monotonicMs();
  try {
    await node.ping();
  } catch (thrown) {
    if (systemClock.monotonicMs() - fromMs > LATE_MS) throw thrown;
  }
}

async function historyOf(node: Redis): Promise<string | undefined> {
  return readHistoryId(await inTime(node.info('replication')));
}

/** Of the answer to `INFO replication`. */
export function readHistoryId(info: string): string | undefined {
  return /^master_replid:(\w+)/m.exec(info)?.[1];
}

export function readServerId(info: string): string | undefined {
  return /^run_id:(\w+)/m.exec(info)?.[1];
}

async function ask(node: Redis, stream: Stream): Promise<string | undefined> {
  const text = await inTime(node.info('server'));
  // A question that was lost is asked again, of whom the next connection leads to.
  const id = node.stream === stream ? readServerId(text) : undefined;
  if (id === undefined) known.delete(stream);
  return id;
}

function inTime(info: Promise<string>): Promise<string> {
  return Promise.race([info.catch(() => ''), sleep(TIMEOUT_MS).then(() => '')]);
}
