/** One message as the phone of its recipient knows it. Times are Unix milliseconds, null until it happens. */
export interface InboxRow {
  readonly id: string;
  /** Number of the sender. */
  readonly from: string;
  /** Group jid, for messages to a group. */
  readonly group?: string;
  type: string;
  /** What a person reads; null for content without text and for messages that were not decrypted (sampling). */
  text: string | null;
  /** Media, quote, reaction and the like, as far as the phone understood them. */
  details?: Record<string, unknown>;
  /** How often it was put before a person: 1 however often it arrives. */
  shown: number;
  /** How often it came over the wire, repeats and undecryptable tries included. */
  arrivals: number;
  readonly at: number;
  deliveredAt: number | null;
  readAt: number | null;
}

/** What one phone received, in order of first arrival; found by (sender, id), as real phones drop repeats. */
export class Inbox {
  readonly #rows = new Map<string, InboxRow>();

  /** Notes an arrival and gives the row, new or known. */
  arrive(from: string, id: string, atMs: number, group?: string): InboxRow {
    const key = `${from}/${id}`;
    let row = this.#rows.get(key);
    if (!row) {
      const place = group === undefined ? {} : { group };
      row = {
        id,
        from,
        ...place,
        type: '',
        text: null,
        shown: 0,
        arrivals: 0,
        at: atMs,
        deliveredAt: null,
        readAt: null,
      };
      this.#rows.set(key, row);
    }
    row.arrivals += 1;
    return row;
  }

  /** Takes over a row of an older inbox. */
  keep(row: InboxRow): void {
    this.#rows.set(`${row.from}/${row.id}`, row);
  }

  find(from: string, id: string): InboxRow | undefined {
    return this.#rows.get(`${from}/${id}`);
  }

  rows(): IterableIterator<InboxRow> {
    return this.#rows.values();
  }
}
