/** Who is told of a person's comings and goings. */
export interface Watcher {
  tellPresence(jid: string, isHere: boolean): void;
}

/** Who asked to be told of whose presence, and under which jid they asked. An interest ends with its connection. */
export class PresenceBoard {
  /** Number of the person -> who watches. */
  readonly #watchers = new Map<string, Map<Watcher, string>>();

  watch(number: string, watcher: Watcher, jid: string): void {
    const watchers = this.#watchers.get(number) ?? new Map<Watcher, string>();
    this.#watchers.set(number, watchers.set(watcher, jid));
  }

  tell(number: string, isHere: boolean): void {
    for (const [watcher, jid] of this.#watchers.get(number) ?? []) watcher.tellPresence(jid, isHere);
  }

  forget(watcher: Watcher): void {
    for (const [number, watchers] of this.#watchers) {
      if (watchers.delete(watcher) && watchers.size === 0) this.#watchers.delete(number);
    }
  }
}
