import { Table, Text, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { Panel } from '../panel.js';
import classes from './table-panel.module.css';

interface TablePanelProps {
  label: string;
  columns: readonly string[];
  /** Names a last column of buttons, for those who cannot see them. */
  deeds?: string;
  /** Below this width it is scrolled sideways. Pixels. */
  minWidth: number;
  /** Rows of `Table.Tr`. */
  children: ReactNode;
}

/** A table as a part of a page. What does not fit is scrolled inside of it, with the keyboard too. */
export function TablePanel({ label, columns, deeds, minWidth, children }: TablePanelProps) {
  return (
    <Panel p={0}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <section className={classes.scrolled} tabIndex={0} aria-label={label}>
        <Table miw={minWidth} verticalSpacing="sm" horizontalSpacing="lg" aria-label={label}>
          <Table.Thead>
            <Table.Tr>
              {columns.map((column) => (
                <Table.Th key={column}>
                  <Text span size="xs" c="dimmed" fw={520}>
                    {column}
                  </Text>
                </Table.Th>
              ))}
              {deeds !== undefined && (
                <Table.Th>
                  <VisuallyHidden>{deeds}</VisuallyHidden>
                </Table.Th>
              )}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>{children}</Table.Tbody>
        </Table>
      </section>
    </Panel>
  );
}
