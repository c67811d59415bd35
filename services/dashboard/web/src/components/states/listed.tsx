import type { ComponentProps, ReactNode } from 'react';
import { Empty } from './empty.js';
import { Loaded } from './loaded.js';
import { SkeletonRows } from './skeleton-rows.js';

interface ListedProps<Item> {
  query: ComponentProps<typeof Loaded<readonly Item[]>>['query'];
  /** In place of a list with nothing on it. */
  empty: ComponentProps<typeof Empty>;
  children: (items: readonly Item[]) => ReactNode;
}

/** A list in each of its states: on its way, failed, with nothing on it, or with what there is. */
export function Listed<Item>({ query, empty, children }: ListedProps<Item>) {
  return (
    <Loaded query={query} skeleton={<SkeletonRows />}>
      {(items) => (items.length === 0 ? <Empty {...empty} /> : children(items))}
    </Loaded>
  );
}
