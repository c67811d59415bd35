import { Group, Text } from '@mantine/core';
import classes from './state-mark.module.css';

export type Tone = 'good' | 'warn' | 'bad' | 'idle';

/** A state as a word with a dot before it: the colour says nothing that the word does not. */
export function StateMark({ tone, children, pulses = false }: { tone: Tone; children: string; pulses?: boolean }) {
  return (
    <Group gap={8} wrap="nowrap" component="span" display="inline-flex" className={classes.mark}>
      <span className={classes.dot} data-tone={tone} data-pulses={pulses || undefined} aria-hidden />
      <Text span size="sm" fw={520}>
        {children}
      </Text>
    </Group>
  );
}
