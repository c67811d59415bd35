import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { STATE_FOLDER } from './paths.js';

export interface TemporaryFolder {
  path: string;
  /** From now on the folder outlives the run, because somebody has to look into it. */
  keep(): void;
}

/** A folder that is gone when the run is over. Add it before whatever writes into it. */
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
