import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** What the lock file of a folder says, and nothing else. */
export async function installDependencies(folder: string, signal: AbortSignal): Promise<void> {
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder, signal });
}
