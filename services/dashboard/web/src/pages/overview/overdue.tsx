import type { Overview } from '@gateway/contracts/console/overview';
import { Anchor, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Moment } from '../../components/moment.js';
import { Panel } from '../../components/panel.js';

/** What should have gone out by now. */
export function Overdue({ overdue: { count, oldest } }: Pick<Overview, 'overdue'>) {
  const { t } = useTranslation();
  return (
    <Panel>
      <Stack gap="sm">
        <Title order={2} size="h4">
          {t('overview.overdue.title')}
        </Title>
        {oldest ? (
          <>
            <Text size="sm">
              <Anchor component={Link} to={`/messages/${oldest.messageId}`} inherit>
                <span className="ltr mono">{oldest.messageId}</span>
              </Anchor>{' '}
              {t('overview.overdue.by')} <Moment ms={oldest.promisedMs} />
            </Text>
            <Text size="sm" c="dimmed">
              {t('overview.overdue.count', { count })} {t('overview.overdue.help')}{' '}
              <Anchor component={Link} to={`/devices/${oldest.device}`} inherit>
                <span className="ltr mono">{oldest.device}</span>
              </Anchor>
            </Text>
          </>
        ) : (
          <Text size="sm" c="dimmed">
            {t('overview.overdue.none')}
          </Text>
        )}
      </Stack>
    </Panel>
  );
}
