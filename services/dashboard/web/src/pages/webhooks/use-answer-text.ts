import type { WebhookAttempt } from '@gateway/contracts/webhooks/webhook';
import { useTranslation } from 'react-i18next';
import type texts from '../../texts/webhooks/en.json';

type FailureCode = keyof typeof texts.webhooks.failures;

/** What an endpoint answered, or why there was no answer. */
export function useAnswerText(): (attempt: Pick<WebhookAttempt, 'status' | 'error'>) => string {
  const { t } = useTranslation();
  return ({ status, error }) =>
    status === null
      ? t(`webhooks.failures.${(error ?? 'connection') as FailureCode}`, {
          defaultValue: t('webhooks.failures.connection'),
        })
      : t('webhooks.answered', { status });
}
