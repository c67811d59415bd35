import { Alert, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useTimeText } from '../moment.js';
import { Failure, useFailureText } from './failure.js';

interface LoadedProps<Data> {
  query: { data: Data | undefined; error: Error | null; dataUpdatedAt: number; refetch: () => unknown };
  /** In the shape of what comes. */
  skeleton: ReactNode;
  children: (data: Data) => ReactNode;
}

/**
 * The states that everything has which is read: it comes, it failed, it is there, and it is there but cannot be read anew:
 * then it stays, with the time that it is from.
 */
export function Loaded<Data>({ query, skeleton, children }: LoadedProps<Data>) {
  const { data, error, dataUpdatedAt, refetch } = query;
  if (data === undefined) return error ? <Failure error={error} onRetry={() => void refetch()} /> : skeleton;
  return (
    <Stack gap="md">
      {error && <Outdated error={error} atMs={dataUpdatedAt} />}
      {children(data)}
    </Stack>
  );
}

function Outdated({ error, atMs }: { error: Error; atMs: number }) {
  const { t } = useTranslation();
  const textOf = useFailureText();
  const time = useTimeText();
  return (
    <Alert color="yellow" variant="outline" py="xs" role="status" c="var(--mantine-color-text)">
      {textOf(error)} {t('failure.asOf', { time: time(atMs) })}
    </Alert>
  );
}
