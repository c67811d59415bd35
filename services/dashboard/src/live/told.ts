/** One server-sent event, encoded once for all who hear it. */
export function toFrame(event: string, data: string): Buffer {
  return Buffer.from(`event: ${event}\ndata: ${data}\n\n`);
}

/** What the followers of one role know of a topic. */
export interface Told {
  /** All of it, for one who joins them. */
  whole(): Buffer;
  /** What is new to them; `undefined`: nothing is. */
  update(shown: unknown): Buffer | undefined;
}

/** Told as a whole whenever it has changed. */
export class ToldWhole implements Told {
  #text: string | undefined;
  #frame: Buffer = Buffer.alloc(0);

  constructor(private readonly topic: string) {}

  whole(): Buffer {
    return this.#frame;
  }

  update(shown: unknown): Buffer | undefined {
    const text = JSON.stringify(shown);
    if (text === this.#text) return undefined;
    this.#text = text;
    this.#frame = toFrame(this.topic, text);
    return this.#frame;
  }
}

interface Item {
  id: string;
}

/**
 * A list: told as a whole once, and from then on by its changes, as `<topic>.changes`: `{ changed: items, removed: ids }`. A list of a
 * thousand devices would otherwise go to every tab four times a second.
 */
export class ToldList implements Told {
  /** By id, in their order. `undefined`: none were told yet. */
  #texts: ReadonlyMap<string, string> | undefined;
  /** Made for the first who joins, and good until the next change. */
  #frame: Buffer | undefined;

  constructor(private readonly topic: string) {}

  whole(): Buffer {
    this.#frame ??= toFrame(this.topic, `[${[...(this.#texts?.values() ?? [])].join()}]`);
    return this.#frame;
  }

  update(shown: unknown): Buffer | undefined {
    const former = this.#texts;
    const texts = new Map((shown as readonly Item[]).map((item) => [item.id, JSON.stringify(item)]));
    this.#texts = texts;
    if (!former) return this.whole();
    const changed = [...texts].filter(([id, text]) => former.get(id) !== text).map(([, text]) => text);
    const removed = [...former.keys()].filter((id) => !texts.has(id));
    if (changed.length === 0 && removed.length === 0) return undefined;
    this.#frame = undefined;
    return toFrame(`${this.topic}.changes`, `{"changed":[${changed.join()}],"removed":${JSON.stringify(removed)}}`);
  }
}
