import type { BaileysSocket, BinaryNode } from '../socket/baileys.js';
import { type Listener, replaceListeners } from '../socket/listeners.js';
import { withPlainAcks } from '../socket/plain-acks.js';

/** Messages on their way through the library. */
export interface Intake {
  /** Number of backlog messages that have arrived and are not handled yet. */
  readonly backlog: number;
}

/**
 * Passes messages to the library one after the other, in the order of the wire.
 *
 * The library queues messages of the backlog separately: new messages overtake them, and the queue does
 * not report when it is empty. So their mark is removed: then the library's listener ends when the message is handled.
 *
 * @param onTaken called after each message of the backlog.
 * @param signal aborted when the session ends: the rest comes again at the next login.
 */
export function takeInTurn(sock: BaileysSocket, { onTaken, signal }: { onTaken(): void; signal: AbortSignal }): Intake {
  const intake = { backlog: 0 };
  let last: Promise<unknown> = Promise.resolve();
  const take = async (library: Listener, node: BinaryNode) => {
    // The library reports failures itself.
    if (!signal.aborted) await withPlainAcks(async () => library(unmarked(node))).catch(() => {});
    if (!isOfBacklog(node)) return;
    intake.backlog -= 1;
    onTaken();
  };
  replaceListeners(sock, 'CB:message', (library) => (node) => {
    if (isOfBacklog(node)) intake.backlog += 1;
    last = last.then(() => take(library, node));
  });
  return intake;
}

function isOfBacklog({ attrs }: BinaryNode): boolean {
  return attrs.offline !== undefined;
}

function unmarked(node: BinaryNode): BinaryNode {
  const { offline: _, ...attrs } = node.attrs;
  return { ...node, attrs };
}
