import type { RecipientRow } from '@gateway/contracts/console/send-views';
import { RECIPIENT_STATUSES, type RecipientStatus } from '@gateway/contracts/sends/statuses';
import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { readRecipients } from '../../api/messages.js';
import { Moment } from '../../components/moment.js';
import { useErrorText } from './error-text.js';
import classes from './send.module.css';
import { SendState } from './send-status.js';

const [ROW_PX, NARROW_ROW_PX] = [52, 66];
const NARROW = '(max-width: 48em)';
/** Recipients that are read together. */
const BLOCK = 100;

interface RecipientTableProps {
  id: string;
  statuses: string;
  /** Only these. */
  chosen: RecipientStatus | undefined;
}

/** A row for each recipient, of which only those on the screen are in the page, and only their blocks are read. */
export function RecipientTable({ id, statuses, chosen }: RecipientTableProps) {
  const { t } = useTranslation();
  const list = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0));
  const places = useMemo(() => placesOf(statuses, chosen), [statuses, chosen]);
  const rows = useWindowVirtualizer({
    count: places.length,
    estimateSize: () => (window.matchMedia(NARROW).matches ? NARROW_ROW_PX : ROW_PX),
    overscan: 8,
    scrollMargin: top,
  });
  const items = rows.getVirtualItems();
  const known = useBlocks(id, statuses, places, new Set(items.map(({ index }) => Math.floor(index / BLOCK))));
  return (
    <div className={classes.table} role="table" aria-label={t('send.recipients')} aria-rowcount={places.length + 1}>
      <div role="rowgroup">
        <div className={`${classes.row} ${classes.head}`} role="row" aria-rowindex={1}>
          <span role="columnheader">{t('send.columns.number')}</span>
          <span role="columnheader">{t('send.columns.state')}</span>
          <span role="columnheader" className={classes.why}>
            {t('send.columns.why')}
          </span>
          <span role="columnheader" className={classes.time}>
            {t('send.columns.since')}
          </span>
        </div>
      </div>
      <div ref={list} className={classes.body} style={{ height: rows.getTotalSize() }} role="rowgroup">
        {items.map(({ index, start }) => (
          <Row
            key={places[index]}
            index={index}
            row={known.get(places[index]!)}
            status={RECIPIENT_STATUSES[Number(statuses[places[index]!])] ?? 'queued'}
            top={start - rows.options.scrollMargin}
          />
        ))}
      </div>
    </div>
  );
}

export function placesOf(statuses: string, chosen?: RecipientStatus): number[] {
  const code = chosen && String(RECIPIENT_STATUSES.indexOf(chosen));
  const places: number[] = [];
  for (let place = 0; place < statuses.length; place++) {
    if (code === undefined || statuses[place] === code) places.push(place);
  }
  return places;
}

/** What was read of these blocks, and is read again where a status has changed. */
function useBlocks(id: string, statuses: string, places: readonly number[], blocks: ReadonlySet<number>) {
  const read = useQueries({
    queries: [...blocks].map((block) => {
      const some = places.slice(block * BLOCK, (block + 1) * BLOCK);
      const state = some.map((place) => statuses[place]).join('');
      return {
        queryKey: ['recipients', id, some.join(), state],
        queryFn: () => readRecipients(id, some),
        placeholderData: keepPreviousData,
        staleTime: 60_000,
      };
    }),
  });
  const known = new Map<number, RecipientRow>();
  for (const { data } of read) for (const row of data ?? []) known.set(row.index, row);
  return known;
}

interface RowProps {
  index: number;
  row: RecipientRow | undefined;
  /** Known before all else of it. */
  status: RecipientStatus;
  top: number;
}

function Row({ index, row, status, top }: RowProps) {
  const { t } = useTranslation();
  const textOf = useErrorText();
  return (
    <div className={classes.row} role="row" aria-rowindex={index + 2} style={{ transform: `translateY(${top}px)` }}>
      <span role="cell">
        {row?.to === 'forgotten' ? t('send.forgotten') : <bdi className="ltr figures">{row ? `+${row.to}` : '…'}</bdi>}
      </span>
      <span role="cell">
        <SendState status={status} />
      </span>
      <span role="cell" className={classes.why}>
        {row?.error && textOf(row.error)}
      </span>
      <span role="cell" className={classes.time}>
        {row && <Moment ms={row.atMs} />}
      </span>
    </div>
  );
}
