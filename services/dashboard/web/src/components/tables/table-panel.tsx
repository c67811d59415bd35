import { Table, Text, VisuallyHidden } from '@mantine/core';
import type { CSSProperties, ReactNode } from 'react';
import { Panel } from '../panel.js';
import classes from './table-panel.module.css';

interface TablePanelProps {
  label: string;
  /** Up to seven. The first is what a row is called. */
  columns: readonly string[];
  /** Names a last column of buttons, for those who cannot see them. */
  deeds?: string;
  /** Rows of `Table.Tr`. */
  children: ReactNode;
}

/**
 * A table as a part of a page. What does not fit is scrolled inside of it, with the keyboard too; where a window is too narrow for
 * columns, each row is a block of cells with the names of their columns.
 */
export function TablePanel({ label, columns, deeds, children }: TablePanelProps) {
  return (
    <Panel p={0}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <section className={classes.scrolled} tabIndex={0} aria-label={label}>
        <Table
          className={classes.table}
          style={namesOf(columns)}
          verticalSpacing="sm"
          horizontalSpacing="lg"
          aria-label={label}
        >
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

/** For the style sheet: as strings of CSS, which are escaped as those of JSON. */
function namesOf(columns: readonly string[]): CSSProperties {
  return Object.fromEntries(columns.map((column, index) => [`--column-${index + 1}`, JSON.stringify(column)]));
}
