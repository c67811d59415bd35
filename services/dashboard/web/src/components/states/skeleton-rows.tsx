import { Skeleton, Stack } from '@mantine/core';
import { Panel } from '../panel.js';

/** In place of a table that comes. */
export function SkeletonRows() {
  return (
    <Panel>
      <Stack gap="lg">
        {['a', 'b', 'c'].map((row) => (
          <Skeleton key={row} height={20} />
        ))}
      </Stack>
    </Panel>
  );
}
