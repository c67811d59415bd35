/** A proxy of what `current` returns at the time, so that tests can refer to what hooks make later. */
export function standIn<Thing extends object>(current: () => Thing): Thing {
  return new Proxy({} as Thing, {
    get(_, name) {
      const thing = current();
      const value: unknown = Reflect.get(thing, name);
      return typeof value === 'function' ? value.bind(thing) : value;
    },
  });
}
