import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import type { RedisSpace } from '@gateway/testkit/redis-space';

const CLI = fileURLToPath(import.meta.resolve('@gateway/cli/main'));

export interface CliRun {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the command line on the data of a test: in its workspace `main`, which is made if need be. */
export async function runCli(
  space: RedisSpace,
  args: readonly string[],
  {
    workspace = 'main',
    env = {},
    input = '',
  }: { workspace?: string; env?: Record<string, string>; input?: string } = {},
): Promise<CliRun> {
  await createWorkspace(space.store, workspace);
  const settings = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, ...space.keySettings, ...env };
  return new Promise((resolve) => {
    const command = [CLI, '--workspace', workspace, ...args];
    const child = execFile(process.execPath, command, { env: settings }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
    child.stdin!.end(input);
  });
}
