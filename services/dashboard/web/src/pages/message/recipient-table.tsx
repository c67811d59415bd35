import type { RecipientRow } from '@gateway/contracts/console/send-views';
import { RECIPIENT_STATUSES, type RecipientStatus } from '@gateway/contracts/sends/statuses';
import { UnstyledButton } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { readRecipients } from '../../api/messages.js';
import { Moment } from '../../components/moment.js';
import { LongTable } from '../../components/tables/long-table.js';
import { useErrorText } from '../messages/error-text.js';
import { SendState } from '../messages/send-status.js';
import classes from './recipient-table.module.css';

/** Recipients that are read together. */
const BLOCK = 100;

interface RecipientTableProps {
  id: string;
  statuses: string;
  /** Only these. */
  chosen: RecipientStatus | undefined;
  /** Place in the send of one that is brought on the screen. */
  shown: { key: number } | undefined;
  /** Something more is shown of one who is chosen. */
  onChoose: false | ((shown: { key: number }) => void);
}

/** A row for each recipient, of whom only the blocks on the screen are read. */
export function RecipientTable({ id, statuses, chosen, shown, onChoose }: RecipientTableProps) {
  const { t } = useTranslation();
  const places = useMemo(() => placesOf(statuses, chosen), [statuses, chosen]);
  return (
    <LongTable
      label={t('send.recipients')}
      items={places}
      keyOf={(place) => place}
      columns={[
        { name: t('send.columns.number') },
        { name: t('send.columns.state') },
        { name: t('send.columns.why'), className: classes.why },
        { name: t('send.columns.since'), className: classes.time },
      ]}
      className={classes.row}
      rowHeight={{ wide: 52, narrow: 66 }}
      shown={shown}
    >
      {(place) => <Cells id={id} place={place} statuses={statuses} places={places} onChoose={onChoose} />}
    </LongTable>
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

interface CellsProps {
  id: string;
  place: number;
  statuses: string;
  places: readonly number[];
  onChoose: RecipientTableProps['onChoose'];
}

/** What was read of the block that a recipient is in; it is read again when a status in it has changed. */
function useRecipient({ id, place, statuses, places }: Omit<CellsProps, 'onChoose'>): RecipientRow | undefined {
  const block = Math.floor(places.indexOf(place) / BLOCK);
  const some = places.slice(block * BLOCK, (block + 1) * BLOCK);
  const { data } = useQuery({
    queryKey: ['recipients', id, some.join(), some.map((each) => statuses[each]).join('')],
    queryFn: () => readRecipients(id, some),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
  return data?.find(({ index }) => index === place);
}

function Cells(props: CellsProps) {
  const { t } = useTranslation();
  const textOf = useErrorText();
  const row = useRecipient(props);
  const { place, statuses, onChoose } = props;
  const number = <bdi className="ltr figures">{row ? `+${row.to}` : '…'}</bdi>;
  return (
    <>
      <span role="cell">
        {row?.to === 'forgotten' ? (
          t('send.forgotten')
        ) : onChoose ? (
          <UnstyledButton className={classes.number} onClick={() => onChoose({ key: place })}>
            {number}
          </UnstyledButton>
        ) : (
          number
        )}
      </span>
      <span role="cell">
        {/* Known before all else of it. */}
        <SendState status={RECIPIENT_STATUSES[Number(statuses[place])] ?? 'queued'} />
      </span>
      <span role="cell" className={classes.why}>
        {row?.error && textOf(row.error)}
      </span>
      <span role="cell" className={classes.time}>
        {row && <Moment ms={row.atMs} />}
      </span>
    </>
  );
}
