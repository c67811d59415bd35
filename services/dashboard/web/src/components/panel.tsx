import { Paper, type PaperProps } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './panel.module.css';

/** A part of a page that belongs together. */
export function Panel({ children, ...props }: PaperProps & { children: ReactNode }) {
  return (
    <Paper className={classes.panel} p="lg" radius="lg" {...props}>
      {children}
    </Paper>
  );
}
