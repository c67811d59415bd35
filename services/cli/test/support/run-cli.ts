import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '@gateway/cli/run-command-line';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import type { RedisSpace } from '@gateway/testkit/redis-space';

const CLI = fileURLToPath(import.meta.resolve('@gateway/cli/main'));

export interface CliRun {
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs the command line on the data of a test: in its workspace `main`, which is made if need be. In this process, as most of a
 * short command is the start of its own; `startCli` starts one.
 */
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
  return runInPlace(space, ['--workspace', workspace, ...args], { env, input });
}

/** The same with nothing made before. */
export async function runInPlace(
  space: RedisSpace,
  args: readonly string[],
  { env = {}, input = '' }: { env?: Record<string, string>; input?: string } = {},
): Promise<CliRun> {
  const settings = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, ...space.keySettings, ...env };
  const [stdout, stderr] = [new Written(), new Written()];
  const terminal = { env: settings, stdin: Readable.from([input]), stdout, stderr };
  const code = await runCommandLine(args, terminal);
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Written extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk;
    done();
  }
}

/** A command that goes on until it is told to end. */
export interface RunningCli {
  /** Of stdout, as they came; each is JSON. */
  lines: Record<string, unknown>[];
  /** As ^C does; answers the exit code. */
  interrupt(): Promise<number | null>;
}

/** Starts a command with `--json` in the workspace `main`. */
export function startCli(space: RedisSpace, args: readonly string[], { redisUrl = space.url } = {}): RunningCli {
  const settings = { REDIS_URL: redisUrl, KEY_PREFIX: space.prefix, ...space.keySettings };
  const child = spawn(process.execPath, [CLI, '--workspace', 'main', '--json', ...args], {
    env: settings,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const lines: Record<string, unknown>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  return {
    lines,
    async interrupt() {
      child.kill('SIGINT');
      return (await exited)[0];
    },
  };
}
