import { VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';

/**
 * Says what changes by itself to those who cannot see it. It has to be on the page before what it says changes: what comes with it
 * is not read out.
 */
export function Announce({ children }: { children: ReactNode }) {
  return <VisuallyHidden role="status">{children}</VisuallyHidden>;
}
