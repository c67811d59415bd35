import type { DeviceView } from '@gateway/contracts/console/views';
import { Badge, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { StateMark } from '../../components/states/state-mark.js';
import { LongTable } from '../../components/tables/long-table.js';
import { AccountPicture } from './account-picture.js';
import { toneOf, useReasonText } from './device-state-text.js';
import classes from './device-table.module.css';

const COLUMNS = ['device', 'state', 'account', 'waiting'] as const;

export function DeviceTable({ devices }: { devices: readonly DeviceView[] }) {
  const { t } = useTranslation();
  return (
    <LongTable
      label={t('devices.title')}
      items={devices}
      keyOf={({ id }) => id}
      columns={COLUMNS.map((column) => ({ name: t(`devices.columns.${column}`), className: classes[column] }))}
      className={classes.row}
      rowHeight={{ wide: 62, narrow: 92 }}
    >
      {(view) => <Cells view={view} />}
    </LongTable>
  );
}

function Cells({ view }: { view: DeviceView }) {
  const { t } = useTranslation();
  const reasonOf = useReasonText();
  const { id, name, isDefault, status, phone, accountName, backlog, restriction } = view;
  return (
    <>
      <span role="cell" className={classes.device}>
        <AccountPicture view={view} size={30} visibleFrom="sm" />
        <span className={classes.name}>
          <Link to="/devices/$device" params={{ device: id }} className={classes.link}>
            <bdi>{name}</bdi>
          </Link>
          {isDefault && (
            <Badge size="xs" variant="default" fw={520} tt="none">
              {t('devices.default')}
            </Badge>
          )}
        </span>
      </span>
      <span role="cell" className={classes.state}>
        <StateMark tone={toneOf(view)} pulses={status === 'connecting'}>
          {t(`devices.status.${status}`)}
        </StateMark>
        <Text size="xs" c="dimmed" className={classes.why}>
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
    </>
  );
}
