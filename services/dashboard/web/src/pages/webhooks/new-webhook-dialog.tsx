import { Modal } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createWebhook, type MadeWebhook } from '../../api/webhooks.js';
import { SecretMade } from './secret-made.js';
import { WebhookForm } from './webhook-form.js';

/** Makes an endpoint, and shows its secret this once. */
export function NewWebhookDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation();
  const [made, setMade] = useState<MadeWebhook>();
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      size="lg"
      title={made ? t('webhooks.made.title') : t('webhooks.create')}
      // What is shown once is not closed by a click beside it.
      closeOnClickOutside={!made}
      onExitTransitionEnd={() => setMade(undefined)}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      {made ? (
        <SecretMade id={made.id} secret={made.secret} onDone={onClose} />
      ) : (
        <WebhookForm
          deed={t('webhooks.create')}
          onSave={async (wishes) => setMade(await createWebhook(wishes))}
          onDone={() => {}}
        />
      )}
    </Modal>
  );
}
