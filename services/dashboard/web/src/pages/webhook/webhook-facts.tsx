import type { WebhookView } from '@gateway/contracts/console/webhook-views';
import { Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { sayNumber } from '../../app/language.js';
import { Fact, Facts } from '../../components/facts.js';
import { Moment } from '../../components/moment.js';
import { Panel } from '../../components/panel.js';
import { WebhookState } from '../webhooks/webhook-state.js';

/** The state as a sentence, and what is known beside it. */
export function WebhookFacts({ view }: { view: WebhookView }) {
  const { t } = useTranslation();
  const { id, status, host, url, devices, content, numbers, headers, createdAtMs } = view;
  const { lastSuccessAtMs, rotatedUntilMs, signature, order, gatherSeconds, concurrency } = view;
  return (
    <Panel>
      <Stack gap="lg">
        <Stack gap={6}>
          <Title order={2} size="h4">
            <WebhookState view={view} />
          </Title>
          <Text size="sm" c="dimmed">
            {t(`webhooks.sentences.${host === undefined ? 'unreadable' : status}`)}
          </Text>
        </Stack>
        <Facts>
          {url !== undefined && (
            <Fact name={t('webhooks.new.url')}>
              <span className="ltr mono">{url}</span>
            </Fact>
          )}
          <Fact name={t('webhooks.columns.lastSuccess')}>
            {lastSuccessAtMs ? <Moment ms={lastSuccessAtMs} /> : t('webhooks.noSuccess')}
          </Fact>
          <Fact name={t('webhooks.columns.devices')}>
            {devices ? <span className="ltr mono">{devices.join(', ')}</span> : t('webhooks.allDevices')}
          </Fact>
          <Fact name={t('webhooks.new.content')}>{t(`webhooks.content.${content}`)}</Fact>
          <Fact name={t('webhooks.new.numbers')}>{t(`webhooks.numbers.${numbers}`)}</Fact>
          {signature && <Fact name={t('webhooks.manners.signature')}>{t(`webhooks.signatures.${signature}`)}</Fact>}
          <Fact name={t('webhooks.manners.refused')}>{t(`webhooks.orders.${order}`)}</Fact>
          <Fact name={t('webhooks.manners.gathered')}>{t('webhooks.seconds', { count: gatherSeconds })}</Fact>
          <Fact name={t('webhooks.manners.concurrency')}>{sayNumber(concurrency)}</Fact>
          {headers.length > 0 && (
            <Fact name={t('webhooks.new.headers')}>
              <span className="ltr mono">{headers.join(', ')}</span>
            </Fact>
          )}
          {rotatedUntilMs !== undefined && (
            <Fact name={t('webhooks.rotatedUntil')}>
              <Moment ms={rotatedUntilMs} />
            </Fact>
          )}
          <Fact name={t('webhooks.id')}>
            <span className="ltr mono">{id}</span>
          </Fact>
          <Fact name={t('webhooks.created')}>
            <Moment ms={createdAtMs} />
          </Fact>
        </Facts>
      </Stack>
    </Panel>
  );
}
