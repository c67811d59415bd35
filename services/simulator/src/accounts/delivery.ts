import { type BinaryNode, node, SERVER } from '../wire/nodes.js';
import { keyOf, LARGEST_BACKLOG, type Mailbox, type MailboxSink } from './mailbox.js';

/** What a client gets of its backlog before it asks for more. */
const PRIMER = 5;
const LARGEST_BATCH = 200;
/** Requests that follow each other faster are ignored. */
const BATCH_PAUSE_MS = 100;

export interface DeliveryRules {
  now(): number;
  /** How late the mark comes that ends the backlog; null is never. Asked when there is nothing left. */
  endMarkMs(): number | null;
  /** How long a status may stay without an ack. */
  readonly statusAckMs: number;
  /** The backlog is delivered: the mark is sent, or on its way. */
  onDelivered(): void;
  /** A request for a batch came too soon. */
  onHaste(): void;
  /** A status was delivered and not confirmed in time. */
  onUnconfirmedStatus(status: BinaryNode): void;
}

/**
 * What one connection gets of a mailbox, as in 2026: `backlog` -> `live`. Of what waited come a preview with counts, a few
 * stanzas, and then as many as the client asks for, until nothing is left and the end mark comes. What arrives meanwhile
 * passes it - unless the queue is withheld: then nothing does.
 */
export class Delivery implements MailboxSink {
  readonly #mailbox: Mailbox;
  readonly #line: MailboxSink;
  readonly #rules: DeliveryRules;
  /** What this connection has not got yet, in order. */
  readonly #unsent = new Set<string>();
  /** When the statuses left that are not confirmed. */
  readonly #statuses = new Map<string, number>();
  #phase: 'new' | 'backlog' | 'live' | 'over' = 'new';
  #delivered = 0;
  #lastBatchMs = -Infinity;
  #markTimer: NodeJS.Timeout | undefined;
  #statusTimer: NodeJS.Timeout | undefined;

  constructor(mailbox: Mailbox, line: MailboxSink, rules: DeliveryRules) {
    this.#mailbox = mailbox;
    this.#line = line;
    this.#rules = rules;
  }

  start(): void {
    if (this.#phase !== 'new') return;
    this.#phase = 'backlog';
    for (const key of this.#mailbox.keys()) this.#unsent.add(key);
    this.#mailbox.connect(this);
    if (this.#unsent.size > 0) this.#line.send(previewNode(this.#mailbox.save()));
    this.#sendNext(PRIMER);
  }

  stop(): void {
    this.#phase = 'over';
    this.#mailbox.detach(this);
    clearTimeout(this.#markTimer);
    clearTimeout(this.#statusTimer);
    this.#unsent.clear();
    this.#statuses.clear();
  }

  /** A stanza was posted. */
  send(stanza: BinaryNode): void {
    if (!this.#mailbox.isWithheld) return this.#pass(stanza);
    this.#unsent.add(keyOf(stanza));
    this.#forgetGone(this.#unsent);
  }

  /** The client asks for the next part of its backlog. */
  requestBatch(count: number): void {
    if (this.#phase !== 'backlog' || !(count > 0)) return;
    const now = this.#rules.now();
    if (now - this.#lastBatchMs < BATCH_PAUSE_MS) return this.#rules.onHaste();
    this.#lastBatchMs = now;
    this.#sendNext(Math.min(count, LARGEST_BATCH));
  }

  /** The queue is no longer withheld. */
  resume(): void {
    if (this.#phase === 'backlog') this.#sendNext(PRIMER);
    else if (this.#phase === 'live') this.#sendNext(Infinity);
  }

  #sendNext(count: number): void {
    let left = count;
    for (const key of this.#unsent) {
      if (left === 0 || !this.#mailbox.mayLeave(key)) break;
      this.#unsent.delete(key);
      const stanza = this.#mailbox.find(key);
      if (!stanza) continue;
      left -= 1;
      this.#delivered += 1;
      this.#pass({ ...stanza, attrs: { ...stanza.attrs, offline: '0' } });
    }
    if (this.#phase === 'backlog' && this.#unsent.size === 0) this.#finish();
  }

  #finish(): void {
    this.#phase = 'live';
    const delayMs = this.#rules.endMarkMs();
    const count = String(this.#delivered);
    const mark = () => this.#line.send(node('ib', { from: SERVER }, [node('offline', { count })]));
    if (delayMs === 0) mark();
    else if (delayMs !== null) this.#markTimer = setTimeout(mark, delayMs).unref();
    this.#rules.onDelivered();
  }

  #pass(stanza: BinaryNode): void {
    this.#line.send(stanza);
    if (stanza.tag !== 'status') return;
    this.#statuses.set(keyOf(stanza), this.#rules.now());
    this.#forgetGone(this.#statuses);
    this.#statusTimer ??= setTimeout(() => this.#checkStatuses(), this.#rules.statusAckMs).unref();
  }

  /** What left the mailbox by another way need not be remembered; looked for only where there is much of it. */
  #forgetGone(keys: Set<string> | Map<string, number>): void {
    if (keys.size <= 2 * LARGEST_BACKLOG) return;
    for (const key of keys.keys()) if (!this.#mailbox.find(key)) keys.delete(key);
  }

  /** A status that was refused withholds the queue; one that was not answered at all ends the stream. */
  #checkStatuses(): void {
    this.#statusTimer = undefined;
    for (const [key, sentAtMs] of this.#statuses) {
      const status = this.#mailbox.find(key);
      if (!status || this.#mailbox.isRefused(key)) this.#statuses.delete(key);
      else {
        const leftMs = sentAtMs + this.#rules.statusAckMs - this.#rules.now();
        if (leftMs <= 0) return this.#rules.onUnconfirmedStatus(status);
        this.#statusTimer = setTimeout(() => this.#checkStatuses(), leftMs).unref();
        return;
      }
    }
  }
}

const COUNTED = ['message', 'receipt', 'notification', 'call', 'status'];

/** How much waits, in all and of each kind. */
function previewNode(waiting: readonly BinaryNode[]): BinaryNode {
  const counts = COUNTED.map((kind) => [kind, String(waiting.filter(({ tag }) => tag === kind).length)]);
  const attrs = { count: String(waiting.length), ...Object.fromEntries(counts) };
  return node('ib', { from: SERVER }, [node('offline_preview', attrs)]);
}
