import { Button, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { testWebhook } from '../../api/webhooks.js';
import { Panel } from '../../components/panel.js';
import { Failure } from '../../components/states/failure.js';
import { TestAnswer } from '../webhooks/test-answer.js';

/** Posts to the endpoint, at once, and shows what came back. */
export function TestButton({ id }: { id: string }) {
  const { t } = useTranslation();
  const test = useMutation({ mutationFn: () => testWebhook(id) });
  return (
    <Panel>
      <Stack align="flex-start">
        <Stack gap={6}>
          <Title order={2} size="h4">
            {t('webhooks.testTitle')}
          </Title>
          <Text size="sm" c="dimmed">
            {t('webhooks.testAbout')}
          </Text>
        </Stack>
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
          {t('webhooks.test')}
        </Button>
        {test.data && <TestAnswer result={test.data} />}
        {test.error && <Failure error={test.error} />}
      </Stack>
    </Panel>
  );
}
