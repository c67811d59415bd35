import { Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Panel } from '../panel.js';

interface EmptyProps {
  icon: ReactNode;
  title: string;
  about: string;
  /** The next step. */
  action?: ReactNode;
}

/** There is nothing yet, and what to do about it. */
export function Empty({ icon, title, about, action }: EmptyProps) {
  return (
    <Panel py={56}>
      <Stack align="center" gap="sm" ta="center">
        <Text c="dimmed" aria-hidden lh={0}>
          {icon}
        </Text>
        <Title order={2} size="h4">
          {title}
        </Title>
        <Text size="sm" c="dimmed" maw="46ch">
          {about}
        </Text>
        {action}
      </Stack>
    </Panel>
  );
}
