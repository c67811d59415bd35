import type { WebhookView } from '@gateway/contracts/console/webhook-views';
import { NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { isWhole } from '../../components/whole-number.js';
import classes from './manner-fields.module.css';

/** How an endpoint is told: fields that few have to look at. */
export const MANNERS = ['signature', 'order', 'gatherSeconds', 'concurrency'] as const;
type Manner = (typeof MANNERS)[number];

const MOST_SECONDS = 300;
const MOST_AT_A_TIME = 20;

export const mannersOf = (view: WebhookView | undefined): Record<Manner, string> => ({
  signature: view?.signature ?? 'v1',
  order: view?.order ?? 'recipient',
  gatherSeconds: String(view?.gatherSeconds ?? 30),
  concurrency: String(view?.concurrency ?? 1),
});

export function useMannerRules() {
  const { t } = useTranslation();
  const within = (to: number) => (text: string) => (isWhole(text, 1, to) ? null : t('device.outside', { from: 1, to }));
  return { gatherSeconds: within(MOST_SECONDS), concurrency: within(MOST_AT_A_TIME) };
}

interface MannerFieldsProps {
  /** A signature is chosen once. */
  isNew: boolean;
  fieldOf: (name: Manner) => { error?: ReactNode };
}

export function MannerFields({ isNew, fieldOf }: MannerFieldsProps) {
  const { t } = useTranslation();
  const number = (name: 'gatherSeconds' | 'concurrency') => (
    <TextInput
      label={t(`webhooks.manners.${name}`)}
      description={t(`webhooks.manners.${name}About`)}
      inputMode="numeric"
      dir="ltr"
      {...fieldOf(name)}
    />
  );
  const more = useRef<HTMLDetailsElement>(null);
  // What is wrong in it has to be seen, and stays in sight when it is mended.
  const isWrong = MANNERS.some((name) => fieldOf(name).error);
  useEffect(() => {
    if (isWrong && more.current) more.current.open = true;
  }, [isWrong]);
  return (
    <details className={classes.more} ref={more}>
      <Text component="summary" size="sm" fw={560}>
        {t('webhooks.manners.title')}
      </Text>
      <Stack pt="sm">
        {isNew && (
          <NativeSelect
            label={t('webhooks.manners.signature')}
            data={(['v1', 'v1a'] as const).map((value) => ({ value, label: t(`webhooks.signatures.${value}`) }))}
            {...fieldOf('signature')}
          />
        )}
        <NativeSelect
          label={t('webhooks.manners.order')}
          description={t('webhooks.manners.orderAbout')}
          data={(['recipient', 'strict'] as const).map((value) => ({ value, label: t(`webhooks.orders.${value}`) }))}
          {...fieldOf('order')}
        />
        {number('gatherSeconds')}
        {number('concurrency')}
      </Stack>
    </details>
  );
}
