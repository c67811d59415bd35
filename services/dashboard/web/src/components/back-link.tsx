import { Anchor, Group } from '@mantine/core';
import { Link, type LinkProps } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';

/** Above a page: to the list that it belongs to. */
export function BackLink({ to, label }: { to: NonNullable<LinkProps['to']>; label: string }) {
  return (
    <Anchor component={Link} to={to} size="sm" maw={1160} mx="auto" w="100%">
      <Group gap={4} component="span">
        <ChevronLeft size={16} className="turns" aria-hidden /> {label}
      </Group>
    </Anchor>
  );
}
