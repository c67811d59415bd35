import { Alert, Button, Center, Stack, Text, Title } from '@mantine/core';
import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { CircleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { RequestFailure } from '../../api/request.js';
import type en from '../../texts/en.json';

type ErrorCode = keyof typeof en.errors;

/** What went wrong and what helps, as a sentence of the user's language. */
export function useFailureText(): (error: Error) => string {
  const { t } = useTranslation();
  return (error) => {
    const { code, resetIn = 60 } = error instanceof RequestFailure ? error : { code: 'internal' };
    return t(`errors.${code as ErrorCode}`, { defaultValue: t('errors.internal'), count: resetIn });
  };
}

interface FailureProps {
  error: Error;
  onRetry?: (() => void) | undefined;
}

/** In place of what could not be shown. The id of the request finds it in the logs. */
export function Failure({ error, onRetry }: FailureProps) {
  const { t } = useTranslation();
  const textOf = useFailureText();
  const requestId = error instanceof RequestFailure ? error.requestId : undefined;
  return (
    <Alert color="red" variant="outline" icon={<CircleAlert size={18} />} role="alert" c="var(--mantine-color-text)">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{textOf(error)}</Text>
        {requestId && (
          <Text size="xs" c="dimmed">
            {t('failure.request')} <span className="ltr mono">{requestId}</span>
          </Text>
        )}
        {onRetry && (
          <Button size="compact-sm" variant="default" onClick={onRetry}>
            {t('failure.again')}
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** A page that failed as a whole, such as one whose code could not be loaded. */
export function PageFailure({ error, reset }: ErrorComponentProps) {
  return (
    <Center mih="60dvh" p="md">
      <Failure error={error as Error} onRetry={reset} />
    </Center>
  );
}

export function NotFound() {
  const { t } = useTranslation();
  return (
    <Center mih="60dvh" p="md">
      <Stack align="center" gap="xs">
        <Title order={1} size="h3">
          {t('notFound.title')}
        </Title>
        <Button variant="default" component={Link} to="/devices">
          {t('notFound.back')}
        </Button>
      </Stack>
    </Center>
  );
}
