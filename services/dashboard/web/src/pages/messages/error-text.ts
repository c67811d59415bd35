import { useTranslation } from 'react-i18next';
import type en from '../../texts/en.json';

/** Why a recipient did not get a message, and what helps. */
export function useErrorText(): (error: string) => string {
  const { t } = useTranslation();
  return (error) =>
    t(`recipientErrors.${error as keyof typeof en.recipientErrors}`, {
      defaultValue: t('recipientErrors.network', { code: error.replace('network_', '') }),
    });
}
