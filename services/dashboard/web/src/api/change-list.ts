export interface Item {
  id: string;
}

/** What has changed in a list that is known. */
export interface ListChange {
  changed: readonly Item[];
  removed: readonly string[];
}

/** The list as it is now, in the order of its ids; items that did not change are the same objects. */
export function changeList(known: readonly Item[], { changed, removed }: ListChange): Item[] {
  const items = new Map(known.map((item) => [item.id, item]));
  for (const id of removed) items.delete(id);
  for (const item of changed) items.set(item.id, item);
  return [...items.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
}
