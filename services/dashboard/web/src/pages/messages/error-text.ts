import { useTranslation } from 'react-i18next';
import type en from '../../texts/en.json';

/** Why a recipient did not get a message, and what helps. */
export function useErrorText(): (error: string) => string {
  const { t } = useTranslation();
  return (error) => {
    // A text whose name ends with `_other` is a plural.
    const name = error === 'network_other' ? 'network_rare' : error;
    return t(`recipientErrors.${name as keyof typeof en.recipientErrors}`, {
      defaultValue: t('recipientErrors.network', { code: error.replace('network_', '') }),
    });
  };
}
