/** Stands for whatever `current` answers at the time: what hooks make can be named before they ran. */
export function standIn<Thing extends object>(current: () => Thing): Thing {
  return new Proxy({} as Thing, {
    get(_, name) {
      const thing = current();
      const value: unknown = Reflect.get(thing, name);
      return typeof value === 'function' ? value.bind(thing) : value;
    },
  });
}
