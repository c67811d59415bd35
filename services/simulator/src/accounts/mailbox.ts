import type { BinaryNode } from '../wire/nodes.js';

/** What the mailbox needs of a live connection. */
export interface MailboxSink {
  send(stanza: BinaryNode): void;
  /** The queue is no longer withheld: what did not leave meanwhile may. */
  resume?(): void;
}

/** Status updates of people: what a client refuses of them stays. */
const STATUS = 'status@broadcast';
const REFUSED = '500';

/** Past this many the oldest receipts go: a device that never comes back must not fill the memory. */
export const LARGEST_BACKLOG = 50_000;

/**
 * The stanzas a linked device must confirm. Everything stays until it is confirmed; what was not is delivered again at
 * the next login, marked `offline`. While no connection is attached stanzas only collect. A status that the client refused
 * stays first and withholds all that is behind it, whatever connection comes.
 */
export class Mailbox {
  readonly #waiting = new Map<string, BinaryNode>();
  #sink: MailboxSink | undefined;
  /** Since 2026 a refused status withholds the queue; before, a refusal was an ack. */
  #keepsRefused = false;
  #refused: string | undefined;
  #isHeldBack = false;

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
    if (this.#keepsRefused && attrs.error === REFUSED && to === STATUS) return this.#refuse(attrs);
    if (attrs.class === 'status') return this.#release(otherKey('status', id, to, participant));
    if (attrs.class === 'message') return this.confirmMessage(id, [participant ?? to]);
    return this.#waiting.delete(otherKey(attrs.class ?? '', id, to, participant, type));
  }

  /** A receipt stands for the ack of a message; `senders` are the names under which its sender may go. */
  confirmMessage(id: string, senders: readonly string[]): boolean {
    return senders.some((sender) => this.#release(messageKey(id, sender)));
  }

  /** Nothing leaves, as a refused status makes it, until this is taken back. */
  set isHeldBack(held: boolean) {
    const wasHeldBack = this.#isHeldBack;
    this.#isHeldBack = held;
    if (wasHeldBack && !this.isWithheld) this.#sink?.resume?.();
  }

  get isWithheld(): boolean {
    return this.#isHeldBack || this.#refused !== undefined;
  }

  /** Of a withheld queue only the refused status leaves, again and again. */
  mayLeave(key: string): boolean {
    return !this.#isHeldBack && (this.#refused === undefined || this.#refused === key);
  }

  isRefused(key: string): boolean {
    return this.#refused === key;
  }

  find(key: string): BinaryNode | undefined {
    return this.#waiting.get(key);
  }

  keys(): Iterable<string> {
    return this.#waiting.keys();
  }

  /** A connection takes over: sends the backlog, marked as such, and everything posted from now on. */
  attach(sink: MailboxSink): number {
    const backlog = [...this.#waiting.values()];
    this.#sink = sink;
    for (const stanza of backlog) sink.send({ ...stanza, attrs: { ...stanza.attrs, offline: '0' } });
    return backlog.length;
  }

  /** A connection takes over that delivers the backlog at its own pace. */
  connect(sink: MailboxSink): void {
    this.#sink = sink;
    this.#keepsRefused = true;
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
    this.#refused = undefined;
  }

  #dropOldest(): void {
    const oldest = this.#waiting.keys().next();
    if (!oldest.done) this.#release(oldest.value);
  }

  #refuse({ class: tag = '', id = '', to = '', participant }: Record<string, string>): boolean {
    const key = tag === 'message' ? messageKey(id, participant ?? to) : otherKey(tag, id, to, participant);
    const stanza = this.#waiting.get(key);
    if (!stanza) return false;
    if (this.#refused === undefined) this.#putFirst(key, stanza);
    this.#refused ??= key;
    return true;
  }

  #putFirst(key: string, stanza: BinaryNode): void {
    this.#waiting.delete(key);
    const others = [...this.#waiting];
    this.#waiting.clear();
    this.#waiting.set(key, stanza);
    for (const [other, waiting] of others) this.#waiting.set(other, waiting);
  }

  /** Forgets a stanza; one that withheld the others lets them go. */
  #release(key: string): boolean {
    const wasThere = this.#waiting.delete(key);
    if (this.#refused !== key) return wasThere;
    this.#refused = undefined;
    if (!this.#isHeldBack) this.#sink?.resume?.();
    return wasThere;
  }
}

/** Under which name a stanza waits. */
export function keyOf(stanza: BinaryNode): string {
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
