import { Group, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { useTranslation } from 'react-i18next';

interface PageProps {
  title: ReactNode;
  /** Of the tab, where `title` is more than a text. */
  name?: string;
  /** A sentence below the title. */
  about?: ReactNode;
  /** What the page is for, at the end of its head. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A page inside the shell: its head, and what it shows. */
export function Page({ title, name, about, actions, children }: PageProps) {
  const { t } = useTranslation();
  const shown = name ?? (typeof title === 'string' ? title : undefined);
  useEffect(() => {
    document.title = shown === undefined ? t('product') : `${shown} · ${t('product')}`;
  }, [shown, t]);
  return (
    <Stack gap="lg" maw={1160} mx="auto" w="100%">
      <Group justify="space-between" align="flex-end" gap="sm">
        <Stack gap={4} flex="1 1 18rem" miw={0}>
          {/* Where the focus goes when the page is gone to. */}
          <Title order={1} tabIndex={-1} size="h2" fz={{ base: 'h3', sm: 'h2' }}>
            {title}
          </Title>
          {about && (
            <Text size="sm" c="dimmed" maw="64ch">
              {about}
            </Text>
          )}
        </Stack>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}
