import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { exitCodeOf, startChild } from '../child-process.js';
import { launcherConfig } from '../config.js';
import { chooseNetwork, type Network } from '../gateway/choose-network.js';
import { openLocalEnvironment } from '../gateway/local-environment.js';
import { readRunningGateway } from '../gateway/running-gateway.js';
import { CLI_MODULE } from '../paths.js';

/**
 * `npm run cli -- [--simulator] token create ...`: the command line of the API, on the data of the gateway that runs here,
 * or will. Says on stderr which that is: what the command prints on stdout stays alone.
 */
export async function runCli(args: string[], lifecycle: Lifecycle): Promise<number> {
  const cliArgs = args.filter((arg) => arg !== '--simulator');
  const network = chooseNetwork({ ...launcherConfig, simulator: cliArgs.length < args.length });
  const running = readRunningGateway();
  if (running && network.kind === 'simulator' && running.network !== 'simulator') {
    const message = 'The gateway that runs here is not on the simulator. Stop it first, or leave out --simulator.';
    throw new GatewayError({ code: 'other_network', message });
  }
  const { env } = running ?? (await openLocalEnvironment(lifecycle, network));
  console.error(running ? `On the gateway that runs here, for ${NAMES[running.network]}.` : describe(network));
  return exitCodeOf(startChild(lifecycle, { name: 'cli', module: CLI_MODULE, args: cliArgs, env, output: 'inherit' }));
}

const NAMES = { simulator: 'the simulator', standIn: 'a stand-in on this host', real: 'the real network' } as const;

/** Each network has an installation of its own: a token of one is unknown to the others. */
function describe({ kind }: Network): string {
  const others = kind === 'simulator' ? '' : ' The simulator has its own: npm run cli -- --simulator ...';
  return `On the installation for ${NAMES[kind]}: no gateway runs here now.${others}`;
}
