import type { DeviceChange } from '@gateway/contracts/devices/device-state';
import { Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Exact } from '../../components/moment.js';
import { Panel } from '../../components/panel.js';
import { StateMark } from '../../components/states/state-mark.js';
import { toneOf } from '../devices/device-state-text.js';
import classes from './history-list.module.css';

/** Changes of state, the newest first, each with why and what helps. */
export function HistoryList({ changes }: { changes: readonly DeviceChange[] }) {
  const { t } = useTranslation();
  return (
    <Panel py={4}>
      <ol className={classes.list}>
        {changes.map((change) => (
          <li key={change.id} className={classes.change}>
            <Group justify="space-between" gap="xs">
              <StateMark tone={toneOf(change)}>{t(`devices.status.${change.status}`)}</StateMark>
              <Text span size="xs" c="dimmed">
                <Exact ms={change.atMs} />
              </Text>
            </Group>
            {change.reason !== undefined && (
              <Text size="sm" c="dimmed">
                {t(`reasons.${change.reason}`)}
              </Text>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}
