import { text } from 'node:stream/consumers';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { CLI_MODULE } from '../paths.js';

/** A link that signs in to the console as `admin`, once, made as an operator makes one. */
export async function createSignInLink(lifecycle: Lifecycle, env: Record<string, string>): Promise<string> {
  const child = startChild(lifecycle, { name: 'cli', module: CLI_MODULE, args: ['user', 'link'], env, output: 'pipe' });
  const { stdout, stderr } = child.process;
  const [output, errors, exitCode] = await Promise.all([text(stdout!), text(stderr!), exitCodeOf(child)]);
  const found = /\bhttps?:\S+#link=\S+/.exec(output)?.[0];
  if (exitCode === 0 && found) return found;
  throw new GatewayError({ code: 'no_link', message: `The command line made no link: ${errors || output}` });
}
