import type { Store } from '@gateway/store/core/store';

/** What goes out: a command of Redis or a step in Lua, and how many went before it. */
export interface Outgoing {
  name: string;
  place: number;
}

/** A store that waits for `before` before each command and each step that goes out by it. */
export function steppedStore(store: Store, before: (what: Outgoing) => Promise<void> | void): Store {
  let count = 0;
  const stepped =
    <A extends unknown[], R>(name: string, send: (...args: A) => Promise<R>) =>
    async (...args: A) => {
      await before({ name, place: count++ });
      return send(...args);
    };
  const redis = new Proxy(store.redis, {
    get(target, property) {
      const value = Reflect.get(target, property) as unknown;
      if (typeof value !== 'function') return value;
      // Of a Cluster: no command.
      if (property === 'nodes') return value.bind(target);
      return typeof property === 'string' ? stepped(property, value.bind(target)) : value.bind(target);
    },
  });
  return { ...store, redis, run: (name, ...rest) => stepped(name, store.run.bind(store, name))(...rest) };
}

/** The places where something may come between: before each that differs from the one before, and in the middle and at the end of many alike. */
export async function gapsOf(store: Store, act: (store: Store) => Promise<unknown>): Promise<Outgoing[]> {
  const all: Outgoing[] = [];
  await act(steppedStore(store, (what) => void all.push(what)));
  return all.filter(({ name }, i) => {
    const isFirst = all[i - 1]?.name !== name;
    const isLast = all[i + 1]?.name !== name;
    return isFirst || isLast || i % 32 === 0;
  });
}
