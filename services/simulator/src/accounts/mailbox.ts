import type { BinaryNode } from '../wire/nodes.js';

/** What the mailbox needs of a live connection. */
export interface MailboxSink {
  send(stanza: BinaryNode): void;
}

/** Past this many the oldest receipts go: a device that never comes back must not fill the memory. */
const LARGEST_BACKLOG = 50_000;

/**
 * The stanzas a linked device must confirm. Everything stays until it is confirmed; what was not is delivered again at
 * the next login, marked `offline`. While no connection is attached stanzas only collect.
 */
export class Mailbox {
  readonly #waiting = new Map<string, BinaryNode>();
  #sink: MailboxSink | undefined;

  get size(): number {
    return this.#waiting.size;
  }

  /** Queues a stanza and sends it when the device is there. */
  post(stanza: BinaryNode): void {
    this.#waiting.set(keyOf(stanza), stanza);
    if (this.#waiting.size > LARGEST_BACKLOG) this.#dropOldest();
    this.#sink?.send(stanza);
  }

  /** The device acknowledged a stanza. True if it was waiting. */
  confirm({ attrs }: BinaryNode): boolean {
    const { id = '', to = '', participant, type } = attrs;
    if (attrs.class === 'message') return this.confirmMessage(id, [participant ?? to]);
    return this.#waiting.delete(otherKey(attrs.class ?? '', id, to, participant, type));
  }

  /** A receipt stands for the ack of a message; `senders` are the names under which its sender may go. */
  confirmMessage(id: string, senders: readonly string[]): boolean {
    return senders.some((sender) => this.#waiting.delete(messageKey(id, sender)));
  }

  /** A connection takes over: sends the backlog, marked as such, and everything posted from now on. */
  attach(sink: MailboxSink): number {
    const backlog = [...this.#waiting.values()];
    this.#sink = sink;
    for (const stanza of backlog) sink.send({ ...stanza, attrs: { ...stanza.attrs, offline: '0' } });
    return backlog.length;
  }

  detach(sink: MailboxSink): void {
    if (this.#sink === sink) this.#sink = undefined;
  }

  /** Takes back what the account's own phone sent to this device alone. */
  withdrawPeerMessages(): void {
    for (const [key, { attrs }] of this.#waiting) if (attrs.category === 'peer') this.#waiting.delete(key);
  }

  save(): BinaryNode[] {
    return [...this.#waiting.values()];
  }

  clear(): void {
    this.#waiting.clear();
  }

  #dropOldest(): void {
    const oldest = this.#waiting.keys().next();
    if (!oldest.done) this.#waiting.delete(oldest.value);
  }
}

function keyOf(stanza: BinaryNode): string {
  const { id = '', from = '', participant, type } = stanza.attrs;
  if (stanza.tag === 'message') return messageKey(id, participant ?? from);
  return otherKey(stanza.tag, id, from, participant, type);
}

/** Without the device: clients confirm a message to the person as often as to the device it came from. */
function messageKey(id: string, peer: string): string {
  return `message/${id}/${peer.replace(/:\d+@/, '@')}`;
}

function otherKey(tag: string, id: string, peer: string, participant = '', type = ''): string {
  return `${tag}/${id}/${peer}/${participant}/${tag === 'receipt' ? type : ''}`;
}
