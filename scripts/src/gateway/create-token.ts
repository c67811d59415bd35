import { text } from 'node:stream/consumers';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { CLI_MODULE } from '../paths.js';

export interface NewToken {
  name: string;
  /** The device that the token acts on. Default: that of the workspace. */
  device?: string;
  /** Default: those of sending. */
  scopes?: string;
}

/** Makes an API token as an operator does, with the command line, and returns it. */
export async function createToken(lifecycle: Lifecycle, token: NewToken, env: Record<string, string>): Promise<string> {
  const { name, device, scopes } = token;
  const args = ['token', 'create', '--name', name];
  if (device !== undefined) args.push('--device', device);
  if (scopes !== undefined) args.push('--scopes', scopes);
  const child = startChild(lifecycle, { name: 'cli', module: CLI_MODULE, args, env, output: 'pipe' });
  const { stdout, stderr } = child.process;
  const [output, errors, exitCode] = await Promise.all([text(stdout!), text(stderr!), exitCodeOf(child)]);
  const found = /\bgw_[0-9a-z]+_[0-9a-z]+\b/.exec(output)?.[0];
  if (exitCode === 0 && found) return found;
  throw new GatewayError({ code: 'no_token', message: `The command line made no token: ${errors || output}` });
}
