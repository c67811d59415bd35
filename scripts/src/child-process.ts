import { type ChildProcess, fork } from 'node:child_process';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { launcherConfig } from './config.js';
import { ROOT } from './paths.js';

export interface ChildOptions {
  name: string;
  /** The module to run, relative to the root of the repository. */
  module: string;
  args?: string[];
  /** The root of the repository without it. */
  cwd?: string;
  /** Of Node itself. */
  nodeFlags?: readonly string[];
  /** Added to the launcher's own. */
  env?: Record<string, string>;
  /** A file to append its output to, or `inherit` for the terminal, or `pipe` to read it. */
  output: number | 'inherit' | 'pipe';
  /** Out of the terminal's reach: Ctrl-C does not go to it. */
  detached?: boolean;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface RunningChild {
  process: ChildProcess;
  exited: Promise<Exit>;
}

const KILL_AFTER_MS = 10_000;

/**
 * Starts a Node process with a channel to us: when we are gone, however that came, it notices and ends.
 * It is stopped with the lifecycle: SIGTERM first, SIGKILL after 10 s.
 */
export function startChild(lifecycle: Lifecycle, options: ChildOptions): RunningChild {
  const { name, module, cwd = ROOT, args = [], nodeFlags = [], env = {}, output, detached = false } = options;
  const child = fork(module, args, {
    cwd,
    env: { ...launcherConfig.environment, ...env },
    execArgv: ['--enable-source-maps', ...nodeFlags],
    stdio: ['ignore', output, output, 'ipc'],
    detached,
  });
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  lifecycle.add(name, () => stopChild(child, exited));
  return { process: child, exited };
}

async function stopChild(child: ChildProcess, exited: Promise<Exit>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  child.kill('SIGTERM');
  await exited;
  clearTimeout(timer);
}

/** Rejects when the child ends while it should run. */
export async function failWhenEnded(name: string, { exited }: RunningChild, lifecycle: Lifecycle): Promise<never> {
  const { code, signal } = await exited;
  if (lifecycle.stopping.aborted) return new Promise(() => {});
  throw new GatewayError({
    code: 'child_ended',
    message: `${name} ended by itself (${signal ?? `exit code ${code}`})`,
  });
}

/** The exit code of a child whose end is our end, such as a test run. */
export async function exitCodeOf({ exited }: RunningChild): Promise<number> {
  const { code } = await exited;
  return code ?? 1;
}
