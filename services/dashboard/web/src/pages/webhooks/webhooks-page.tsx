import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Plus, Webhook } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session.js';
import { useWebhooks } from '../../api/webhooks.js';
import { Page } from '../../components/page.js';
import { Listed } from '../../components/states/listed.js';
import { NewWebhookDialog } from './new-webhook-dialog.js';
import { WebhookTable } from './webhook-table.js';

/** Settings > Webhooks: who is told what happens. */
export function WebhooksPage() {
  const { t } = useTranslation();
  const webhooks = useWebhooks();
  const mayCreate = useMe().user.role !== 'viewer';
  const [opened, { open, close }] = useDisclosure();
  const create = mayCreate && (
    <Button leftSection={<Plus size={16} />} onClick={open}>
      {t('webhooks.create')}
    </Button>
  );
  return (
    <Page title={t('webhooks.title')} about={t('webhooks.about')} actions={webhooks.data?.length ? create : undefined}>
      <Listed
        query={webhooks}
        empty={{
          icon: <Webhook size={36} strokeWidth={1.4} />,
          title: t('webhooks.empty.title'),
          about: t(mayCreate ? 'webhooks.empty.about' : 'webhooks.empty.forViewers'),
          action: create,
        }}
      >
        {(all) => <WebhookTable webhooks={all} />}
      </Listed>
      {mayCreate && <NewWebhookDialog opened={opened} onClose={close} />}
    </Page>
  );
}
