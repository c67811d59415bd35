import { Alert, Button, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { UserLink } from '../../api/users.js';
import { CopyBox } from '../../components/copy-box.js';

/** A link that signs a user in, to be handed to them. It is shown this once. */
export function LinkMade({ link: { name, url }, onDone }: { link: UserLink; onDone: () => void }) {
  const { t } = useTranslation();
  return (
    <Stack>
      <Alert variant="outline" color="yellow" c="var(--mantine-color-text)" py="xs">
        {t('users.link.about')}
      </Alert>
      <CopyBox label={t('users.link.label', { name })} value={url} />
      <Button onClick={onDone}>{t('users.link.done')}</Button>
    </Stack>
  );
}
