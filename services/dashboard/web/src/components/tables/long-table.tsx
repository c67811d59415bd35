import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import classes from './long-table.module.css';

const NARROW = '(max-width: 47.99em)';

interface LongTableProps<Item> {
  label: string;
  items: readonly Item[];
  keyOf: (item: Item) => string | number;
  columns: readonly { name: string; className?: string | undefined }[];
  /** Gives a row its columns. */
  className: string | undefined;
  /** Pixels. */
  rowHeight: { wide: number; narrow: number };
  /** The row that is brought on the screen, once for each such object, and marked. */
  shown?: { key: string | number } | undefined;
  /** The cells of a row, each with `role="cell"`. */
  children: (item: Item) => ReactNode;
}

/** A table of as many rows as there are, of which only those on the screen are in the page. */
export function LongTable<Item>({ label, items, columns, className, shown, ...rest }: LongTableProps<Item>) {
  const { keyOf, rowHeight, children } = rest;
  const list = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  // What is above it may change its height at any time.
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0));
  const height = window.matchMedia(NARROW).matches ? rowHeight.narrow : rowHeight.wide;
  const rows = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => height,
    overscan: 8,
    scrollMargin: top,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what changes in the list meanwhile does not scroll it again.
  useEffect(() => {
    const at = shown ? items.findIndex((item) => keyOf(item) === shown.key) : -1;
    if (at >= 0) rows.scrollToIndex(at, { align: 'center' });
  }, [shown]);
  return (
    <div className={classes.table} role="table" aria-label={label} aria-rowcount={items.length + 1}>
      <div role="rowgroup">
        <div className={`${classes.row} ${classes.head} ${className}`} role="row" aria-rowindex={1}>
          {columns.map((column) => (
            <span key={column.name} role="columnheader" className={column.className}>
              {column.name}
            </span>
          ))}
        </div>
      </div>
      <div ref={list} className={classes.body} style={{ height: rows.getTotalSize() }} role="rowgroup">
        {rows.getVirtualItems().map(({ index, start }) => (
          <div
            key={keyOf(items[index]!)}
            className={`${classes.row} ${className}`}
            role="row"
            aria-rowindex={index + 2}
            data-shown={(shown && keyOf(items[index]!) === shown.key) || undefined}
            style={{ height, transform: `translateY(${start - rows.options.scrollMargin}px)` }}
          >
            {children(items[index]!)}
          </div>
        ))}
      </div>
    </div>
  );
}
