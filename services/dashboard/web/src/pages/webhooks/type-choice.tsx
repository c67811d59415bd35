import { Checkbox, SimpleGrid } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useWebhookTypes } from '../../api/webhooks.js';

/** What an endpoint is told, type by type. */
export function TypeChoice(props: { value?: string[]; onChange?: (types: string[]) => void }) {
  const { t } = useTranslation();
  const types = useWebhookTypes();
  return (
    <Checkbox.Group label={t('webhooks.columns.types')} {...props}>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing={6} mt="xs">
        {(types.data ?? props.value ?? []).map((type) => (
          <Checkbox key={type} value={type} label={<span className="ltr mono">{type}</span>} />
        ))}
      </SimpleGrid>
    </Checkbox.Group>
  );
}
