import { ActionIcon, Box, CopyButton, Tooltip } from '@mantine/core';
import { Check, Copy } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import classes from './copy-box.module.css';

interface CopyBoxProps {
  /** Names it to those who cannot see it. */
  label: string;
  value: string;
}

/** Something to take along, as it stands: it reads from the left in every language. */
export function CopyBox({ label, value }: CopyBoxProps) {
  const { t } = useTranslation();
  return (
    <Box className={classes.box} dir="ltr">
      {/* Long lines are scrolled, with the keyboard too. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <pre className={classes.text} role="group" aria-label={label} tabIndex={0}>
        {value}
      </pre>
      <CopyButton value={value} timeout={2_000}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? t('copy.done') : t('copy.copy')}>
            <ActionIcon
              variant="subtle"
              color={copied ? 'sea' : 'gray'}
              onClick={copy}
              aria-label={`${copied ? t('copy.done') : t('copy.copy')}: ${label}`}
            >
              {copied ? <Check size={16} /> : <Copy size={16} />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </Box>
  );
}
