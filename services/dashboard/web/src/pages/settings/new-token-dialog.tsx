import { Modal } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type MadeToken, refreshTokens } from '../../api/tokens.js';
import { NewTokenForm } from './new-token-form.js';
import { TokenMade } from './token-made.js';

interface NewTokenDialogProps {
  opened: boolean;
  /** There is none yet. */
  isFirst: boolean;
  onClose: () => void;
}

/** Makes a token, and shows it this once. */
export function NewTokenDialog({ opened, isFirst, onClose }: NewTokenDialogProps) {
  const { t } = useTranslation();
  const [made, setMade] = useState<MadeToken>();
  const close = () => {
    onClose();
    // It may have been used meanwhile.
    if (made) refreshTokens();
  };
  return (
    <Modal
      opened={opened}
      onClose={close}
      size="lg"
      title={made ? t('tokens.made.title') : t('tokens.create')}
      // What is shown once is not closed by a click beside it.
      closeOnClickOutside={!made}
      onExitTransitionEnd={() => setMade(undefined)}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      {made ? <TokenMade made={made} onDone={close} /> : <NewTokenForm isFirst={isFirst} onMade={setMade} />}
    </Modal>
  );
}
