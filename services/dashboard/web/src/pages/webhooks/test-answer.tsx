import type { TestResult } from '@gateway/contracts/console/webhook-views';
import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyBox } from '../../components/copy-box.js';
import { StateMark } from '../../components/states/state-mark.js';
import { useAnswerText } from './use-answer-text.js';

/** What came back from a test, and what follows from it. */
export function TestAnswer({ result }: { result: TestResult }) {
  const { t } = useTranslation();
  const textOf = useAnswerText();
  const { delivered, webhookStatus, answer, tookMs } = result;
  return (
    <output aria-live="polite">
      <Stack gap={6}>
        <StateMark
          tone={delivered ? 'good' : 'bad'}
        >{`${textOf(result)} · ${t('webhooks.took', { ms: tookMs })}`}</StateMark>
        <Text size="sm" c="dimmed">
          {delivered ? t(`webhooks.sentences.${webhookStatus}`) : t('webhooks.testFailed')}
        </Text>
        {answer !== '' && <CopyBox label={t('webhooks.answer')} value={answer} />}
      </Stack>
    </output>
  );
}
