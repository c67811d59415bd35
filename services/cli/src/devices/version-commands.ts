import { isClientVersion } from '@gateway/contracts/devices/client-version';
import { systemClock } from '@gateway/runtime/clock';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { listAllDevices } from '@gateway/store/devices/devices';
import { ClientVersion, setClientVersion } from '@gateway/store/fleet/client-version';
import { type Command, InvalidArgumentError } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';
import { showTime } from '../output.js';

/** `version show | set | reset`. */
export function addVersionCommands(program: Command, run: RunCommand): void {
  const version = program
    .command('version')
    .description("the version of the network's web client that the gateway reports");
  version
    .command('show')
    .description('show the version in force, where it comes from, and when the network will refuse it')
    .action(() => run(show));
  version
    .command('set')
    .description(
      'log in with this version from now on; devices that wait because the old one was refused log in at once',
    )
    .argument('<version>', 'such as 2.3000.1043857760', readVersion)
    .action((given: string) => run((context) => change(context, given)));
  version
    .command('reset')
    .description('go back to MESSENGER_VERSION, or to the built-in version')
    .action(() => run((context) => change(context, undefined)));
}

async function show({ store, output, logger, messengerVersion }: CliContext): Promise<void> {
  const { version, source, isRefused, sinceMs, expiresAtMs } = await new ClientVersion({
    ...{ store, logger, clock: systemClock, configured: messengerVersion },
  }).read();
  output.show({ version, source, refused: isRefused, since: showTime(sinceMs), expires: showTime(expiresAtMs) });
}

async function change(context: CliContext, version: string | undefined): Promise<void> {
  const { store } = context;
  await setClientVersion(store, version);
  await context.record('version.set', version ?? 'default');
  for (const address of await listAllDevices(store)) await ringDoorbell(store, { topic: 'desired', ...address });
  await show(context);
}

function readVersion(given: string): string {
  if (!isClientVersion(given)) throw new InvalidArgumentError('Expected three numbers, such as 2.3000.1043857760.');
  return given;
}
