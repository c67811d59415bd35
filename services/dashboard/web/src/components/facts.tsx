import { Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './facts.module.css';

/** What is known of one thing: rows of `Fact`. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className={classes.facts}>{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Group className={classes.fact} justify="space-between" wrap="nowrap" gap="md">
      <Text component="dt" size="sm" c="dimmed" flex="none">
        {name}
      </Text>
      <Text component="dd" size="sm" m={0} ta="end" miw={0} style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </Group>
  );
}
