import type { Lifecycle } from '@gateway/runtime/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { chooseNetwork } from '../choose-network.js';
import { launcherConfig } from '../config.js';
import { openLocalEnvironment } from '../local-environment.js';
import { CLI_MODULE } from '../paths.js';
import { readRunningGateway } from '../running-gateway.js';

/** `npm run cli -- token create ...`: the command line of the API, on the data of the gateway that runs here or will. */
export async function runCli(args: string[], lifecycle: Lifecycle): Promise<number> {
  const { env } =
    readRunningGateway() ??
    (await openLocalEnvironment(lifecycle, chooseNetwork({ ...launcherConfig, simulator: false })));
  return exitCodeOf(startChild(lifecycle, { name: 'cli', module: CLI_MODULE, args, env, output: 'inherit' }));
}
