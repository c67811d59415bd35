import type { WebhookView } from '@gateway/contracts/console/webhook-views';
import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Moment } from '../../components/moment.js';
import { StateMark, type Tone } from '../../components/states/state-mark.js';

const TONES = {
  ...{ unverified: 'warn', active: 'good', failing: 'bad', paused: 'idle', disabled: 'bad' },
} as const satisfies Record<WebhookView['status'], Tone>;

/** A word, and since when, or until when, where that matters. */
export function WebhookState({ view: { status, failingSinceMs, host } }: { view: WebhookView }) {
  const { t } = useTranslation();
  if (host === undefined) return <StateMark tone="bad">{t('webhooks.states.unreadable')}</StateMark>;
  return (
    <>
      <StateMark tone={TONES[status]}>{t(`webhooks.states.${status}`)}</StateMark>
      {status === 'failing' && failingSinceMs !== undefined && (
        <Text size="xs" c="dimmed">
          {t('webhooks.failingSince')} <Moment ms={failingSinceMs} />
        </Text>
      )}
    </>
  );
}
