import type { DeviceView } from '@gateway/contracts/console/views';
import { Group, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Moment } from '../../components/moment.js';
import { Panel } from '../../components/panel.js';
import { StateMark } from '../../components/states/state-mark.js';
import classes from './device-facts.module.css';
import { toneOf, useReasonText } from './device-state-text.js';

/** The state as a sentence, and what is known beside it. */
export function DeviceFacts({ view }: { view: DeviceView }) {
  const { t } = useTranslation();
  const reason = useReasonText()(view);
  const { id, status, phone, accountName, sinceMs, backlog, pace, restriction, notBeforeMs, createdAtMs } = view;
  return (
    <Panel>
      <Stack gap="lg">
        <Stack gap={6}>
          <Title order={2} size="h4">
            <StateMark tone={toneOf(view)} pulses={status === 'connecting'}>
              {t(`devices.status.${status}`)}
            </StateMark>
          </Title>
          <Text size="sm" c="dimmed">
            {reason ?? t('device.fine')}
          </Text>
          {restriction && (
            <Text size="sm">
              {t(`restrictions.${restriction.kind}`)}{' '}
              {restriction.untilMs && (
                <>
                  {t('device.until')} <Moment ms={restriction.untilMs} />
                </>
              )}
            </Text>
          )}
        </Stack>
        <dl className={classes.facts}>
          {accountName && accountName !== phone && (
            <Fact name={t('device.name')}>
              <bdi>{accountName}</bdi>
            </Fact>
          )}
          {phone && (
            <Fact name={t('device.phone')}>
              <span className="ltr figures">+{phone}</span>
            </Fact>
          )}
          {sinceMs && (
            <Fact name={t('device.since')}>
              <Moment ms={sinceMs} />
            </Fact>
          )}
          {notBeforeMs && notBeforeMs > Date.now() && (
            <Fact name={t('device.again')}>
              <Moment ms={notBeforeMs} />
            </Fact>
          )}
          <Fact name={t('devices.columns.waiting')}>
            <span className="figures">{t('devices.waiting', { count: backlog })}</span>
          </Fact>
          {pace && (
            <Fact name={t('device.pace')}>
              <span className="figures">{t('device.perMinute', { count: pace.messagesPerMinute })}</span>
            </Fact>
          )}
          <Fact name={t('device.id')}>
            <span className="ltr mono">{id}</span>
          </Fact>
          <Fact name={t('device.created')}>
            <Moment ms={createdAtMs} />
          </Fact>
        </dl>
      </Stack>
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Group className={classes.fact} justify="space-between" wrap="nowrap" gap="md">
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" size="sm" m={0} ta="end" miw={0}>
        {children}
      </Text>
    </Group>
  );
}
