import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { STATE_FOLDER } from './paths.js';

export interface TemporaryFolder {
  path: string;
  /** From now on the folder outlives the run, so that it can be examined. */
  keep(): void;
}

/** A folder that is deleted at the end of the run. Add it before anything that writes into it. */
export function makeTemporaryFolder(lifecycle: Lifecycle, name: string): TemporaryFolder {
  mkdirSync(STATE_FOLDER, { recursive: true, mode: 0o700 });
  const path = mkdtempSync(`${STATE_FOLDER}/${name}-`);
  let kept = false;
  lifecycle.add('temporary folder', async () => {
    if (!kept) rmSync(path, { recursive: true, force: true });
  });
  return {
    path,
    keep: () => {
      kept = true;
    },
  };
}
