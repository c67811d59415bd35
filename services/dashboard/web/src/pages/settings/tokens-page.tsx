import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useSearch } from '@tanstack/react-router';
import { KeyRound, Plus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useTokens } from '../../api/tokens.js';
import { Page } from '../../components/page.js';
import { Listed } from '../../components/states/listed.js';
import { NewTokenDialog } from './new-token-dialog.js';
import { ReferenceLink } from './reference-link.js';
import { TokenTable } from './token-table.js';

/** Settings > API: what programs show to be let in. */
export function TokensPage() {
  const { t } = useTranslation();
  const tokens = useTokens();
  const { key: chosen } = useSearch({ from: '/inside/settings/api' });
  const [opened, { open, close }] = useDisclosure();
  const create = (
    <Button leftSection={<Plus size={16} />} onClick={open}>
      {t('tokens.create')}
    </Button>
  );
  return (
    <Page
      title={t('tokens.title')}
      about={
        <>
          {t('tokens.about')} <ReferenceLink label={t('tokens.reference')} />
        </>
      }
      actions={tokens.data?.length ? create : undefined}
    >
      <Listed
        query={tokens}
        empty={{
          icon: <KeyRound size={36} strokeWidth={1.4} />,
          title: t('tokens.empty.title'),
          about: t('tokens.empty.about'),
          action: create,
        }}
      >
        {(all) => <TokenTable tokens={all} chosen={chosen} />}
      </Listed>
      <NewTokenDialog opened={opened} isFirst={tokens.data?.length === 0} onClose={close} />
    </Page>
  );
}
