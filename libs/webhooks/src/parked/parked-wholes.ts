import type { ParkedClock, Whole } from '@gateway/store/webhooks/delivering/parked/parked';

/** A request as it is put aside, by key. @param keys of what is in it, in order. */
export function wholeOf(
  request: Pick<Whole, 'id' | 'wasRefused'>,
  keys: readonly string[],
): [key: string, whole: Whole][] {
  const places = new Map<string, number[]>();
  for (const [place, key] of keys.entries()) {
    const known = places.get(key);
    if (known) known.push(place);
    else places.set(key, [place]);
  }
  return [...places].map(([key, of]) => [key, { ...request, places: of }]);
}

/** So that all of a request is found by any of its keys. */
export function withLead(clocks: readonly (readonly [key: string, clock: ParkedClock])[]): [string, ParkedClock][] {
  const [lead] = clocks.map(([key]) => key);
  const keys = clocks.map(([key]) => key);
  return clocks.map(([key, { whole, ...clock }]) => {
    if (!whole || lead === undefined) return [key, clock];
    const { lead: _lead, keys: _keys, ...request } = whole;
    return [key, { ...clock, whole: { ...request, lead, ...(key === lead && { keys }) } }];
  });
}
