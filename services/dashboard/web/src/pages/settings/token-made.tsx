import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session.js';
import { type MadeToken, useToken } from '../../api/tokens.js';
import { CopyBox } from '../../components/copy-box.js';
import { StateMark } from '../../components/states/state-mark.js';
import { ReferenceLink } from './reference-link.js';

/** The token, the line that tries it, and whether it was tried: the page sees its first request within a second. */
export function TokenMade({ made: { value, token }, onDone }: { made: MadeToken; onDone: () => void }) {
  const { t } = useTranslation();
  const { api } = useMe();
  const isUsed = useToken(token.keyId).data?.lastUsedAtMs !== undefined;
  const curl = `curl -H "Authorization: Bearer ${value}" \\\n  ${api.url}/api/messenger/v1/status`;
  return (
    <Stack>
      <Alert variant="outline" color="yellow" c="var(--mantine-color-text)" py="xs">
        {t('tokens.made.once')}
      </Alert>
      <CopyBox label={t('tokens.made.value')} value={value} />
      <Stack gap={6}>
        <Text size="sm">{t('tokens.made.try')}</Text>
        <CopyBox label={t('tokens.made.curl')} value={curl} />
        {/* After the `#`: browsers send that part to no server. */}
        <ReferenceLink hash={`#token=${value}`} label={t('tokens.made.reference')} />
      </Stack>
      <output aria-live="polite">
        <StateMark tone={isUsed ? 'good' : 'idle'} pulses={!isUsed}>
          {isUsed ? t('tokens.made.used') : t('tokens.made.waiting')}
        </StateMark>
      </output>
      <Group gap="xs" grow>
        <Button variant="default" renderRoot={(props) => <Link {...props} to="/messages/new" />}>
          {t('tokens.made.send')}
        </Button>
        <Button variant={isUsed ? 'filled' : 'default'} onClick={onDone}>
          {t('tokens.made.done')}
        </Button>
      </Group>
    </Stack>
  );
}
