import type { DeviceView } from '@gateway/contracts/console/views';
import { Badge, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { StateMark } from '../../components/state-mark.js';
import { toneOf, useReasonText } from './device-state-text.js';
import classes from './device-table.module.css';

const ROW_PX = 62;

/** A row for each, of which only those on the screen are in the page. */
export function DeviceTable({ devices }: { devices: readonly DeviceView[] }) {
  const { t } = useTranslation();
  const list = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0), []);
  const rows = useWindowVirtualizer({
    count: devices.length,
    estimateSize: () => ROW_PX,
    overscan: 8,
    scrollMargin: top,
  });
  return (
    <div className={classes.table} role="table" aria-label={t('devices.title')} aria-rowcount={devices.length + 1}>
      <div className={`${classes.row} ${classes.head}`} role="row" aria-rowindex={1}>
        {(['device', 'state', 'account', 'waiting'] as const).map((column) => (
          <span key={column} role="columnheader" className={classes[column]}>
            {t(`devices.columns.${column}`)}
          </span>
        ))}
      </div>
      <div ref={list} className={classes.body} style={{ height: rows.getTotalSize() }} role="rowgroup">
        {rows.getVirtualItems().map(({ index, start }) => (
          <Row key={devices[index]!.id} view={devices[index]!} index={index} top={start - rows.options.scrollMargin} />
        ))}
      </div>
    </div>
  );
}

function Row({ view, index, top }: { view: DeviceView; index: number; top: number }) {
  const { t } = useTranslation();
  const reasonOf = useReasonText();
  const { id, name, isDefault, status, phone, accountName, backlog, restriction } = view;
  return (
    <div className={classes.row} role="row" aria-rowindex={index + 2} style={{ transform: `translateY(${top}px)` }}>
      <span role="cell" className={classes.device}>
        <Link to="/devices/$device" params={{ device: id }} className={classes.link}>
          <bdi>{name}</bdi>
        </Link>
        {isDefault && (
          <Badge size="xs" variant="default" ms={8} fw={520} tt="none">
            {t('devices.default')}
          </Badge>
        )}
      </span>
      <span role="cell" className={classes.state}>
        <StateMark tone={toneOf(view)} pulses={status === 'connecting'}>
          {t(`devices.status.${status}`)}
        </StateMark>
        <Text size="xs" c="dimmed" truncate>
          {restriction ? t(`restrictions.${restriction.kind}`) : reasonOf(view)}
        </Text>
      </span>
      <span role="cell" className={classes.account}>
        {accountName && accountName !== phone && (
          <Text size="sm" truncate>
            <bdi>{accountName}</bdi>
          </Text>
        )}
        {phone && (
          <Text size="xs" c="dimmed">
            <span className="ltr figures">+{phone}</span>
          </Text>
        )}
      </span>
      <span role="cell" className={`${classes.waiting} figures`}>
        {backlog > 0 ? (
          t('devices.waiting', { count: backlog })
        ) : (
          <Text span c="dimmed" aria-label={t('devices.none')}>
            –
          </Text>
        )}
      </span>
    </div>
  );
}
