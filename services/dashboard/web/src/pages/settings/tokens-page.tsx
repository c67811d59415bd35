import { Button, Skeleton, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { KeyRound, Plus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useTokens } from '../../api/tokens.js';
import { Empty } from '../../components/empty.js';
import { Loaded } from '../../components/loaded.js';
import { Page } from '../../components/page.js';
import { Panel } from '../../components/panel.js';
import { NewTokenDialog } from './new-token-dialog.js';
import { ReferenceLink } from './reference-link.js';
import { TokenTable } from './token-table.js';

/** Settings > API: what programs show to be let in. */
export function TokensPage() {
  const { t } = useTranslation();
  const tokens = useTokens();
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
      <Loaded query={tokens} skeleton={<Rows />}>
        {(all) =>
          all.length === 0 ? (
            <Empty
              icon={<KeyRound size={36} strokeWidth={1.4} />}
              title={t('tokens.empty.title')}
              about={t('tokens.empty.about')}
              action={create}
            />
          ) : (
            <TokenTable tokens={all} />
          )
        }
      </Loaded>
      <NewTokenDialog opened={opened} onClose={close} />
    </Page>
  );
}

function Rows() {
  return (
    <Panel>
      <Stack gap="lg">
        {['a', 'b', 'c'].map((row) => (
          <Skeleton key={row} height={20} />
        ))}
      </Stack>
    </Panel>
  );
}
