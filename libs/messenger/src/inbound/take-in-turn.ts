import { isOwnPhone } from '../lookup/is-own-phone.js';
import type { BaileysSocket, BinaryNode } from '../socket/baileys.js';
import { type Listener, replaceListeners } from '../socket/listeners.js';
import { withPlainAcks } from '../socket/plain-acks.js';

/** Messages on their way through the library. */
export interface Intake {
  /** Number of messages that have arrived and are not handled yet, of the backlog and of those that waited for its end. */
  readonly backlog: number;
  /** The backlog has ended: what waited for that is passed on. */
  release(): void;
}

/** When so many new messages wait they are passed on all the same: more are not kept in memory. */
const MOST_HELD = 200;

/**
 * Passes messages to the library one after the other, in the order of the wire.
 *
 * The library queues messages of the backlog separately: new messages overtake them, and the queue does
 * not report when it is empty. So their mark is removed: then the library's listener ends when the message is handled.
 *
 * New messages come while the rest of the backlog is still at the network. They wait for its end, so that what one person writes, such
 * as START and STOP, is handled in the order in which it was written. What the account's phone tells this device alone does not wait:
 * it may be what the phone was asked for because of a message of the backlog.
 *
 * @param isComing whether some of the backlog is still to come.
 * @param onTaken called after each message that counts as `backlog`.
 * @param signal aborted when the session ends: the rest comes again at the next login.
 */
export function takeInTurn(
  sock: BaileysSocket,
  { isComing, onTaken, signal }: { isComing(): boolean; onTaken(): void; signal: AbortSignal },
): Intake {
  let backlog = 0;
  let held: (() => void)[] = [];
  let last: Promise<unknown> = Promise.resolve();
  const take = async (library: Listener, node: BinaryNode) => {
    // The library reports failures itself.
    if (!signal.aborted) await withPlainAcks(async () => library(unmarked(node))).catch(() => {});
  };
  const append = (library: Listener, node: BinaryNode) => {
    last = last.then(() => take(library, node));
  };
  const appendCounted = (library: Listener, node: BinaryNode) => {
    backlog += 1;
    append(library, node);
    last = last.then(() => {
      backlog -= 1;
      onTaken();
    });
  };
  const release = () => {
    for (const pass of held) pass();
    held = [];
  };
  replaceListeners(sock, 'CB:message', (library) => (node) => {
    if (isOfBacklog(node)) return appendCounted(library, node);
    if (!isComing() || isFromOwnPhone(sock, node)) return append(library, node);
    held.push(() => appendCounted(library, node));
    if (held.length >= MOST_HELD) release();
  });
  return {
    get backlog() {
      return backlog;
    },
    release,
  };
}

function isOfBacklog({ attrs }: BinaryNode): boolean {
  return attrs.offline !== undefined;
}

function isFromOwnPhone({ authState }: BaileysSocket, { attrs: { from = '', category } }: BinaryNode): boolean {
  return category === 'peer' && isOwnPhone(authState.creds.me, from);
}

function unmarked(node: BinaryNode): BinaryNode {
  const { offline: _, ...attrs } = node.attrs;
  return { ...node, attrs };
}
