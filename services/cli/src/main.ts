import { DEFAULT_WORKSPACE } from '@gateway/contracts/ids';
import { toError } from '@gateway/runtime/errors';
import { Command } from 'commander';
import { addDeviceCommands } from './devices/device-commands.js';
import { addTopCommand } from './devices/top-devices.js';
import { addVersionCommands } from './devices/version-commands.js';
import { addKeyCommands } from './keys/key-commands.js';
import { addOptOutCommands } from './people/opt-out-commands.js';
import { addPersonCommands } from './people/person-commands.js';
import { addSendCommands } from './sends/send-commands.js';
import { addTokenCommands } from './tokens/token-commands.js';
import { addUserCommands } from './users/user-commands.js';
import { addWebhookCommands } from './webhooks/webhook-commands.js';
import { addWorkspaceCommands, readWorkspaceName } from './workspaces/workspace-commands.js';

/** The operators' command line: `npm run cli -- token create --name my-app`. */
const program = new Command('cli')
  .description(
    'Manages workspaces, tokens, devices, sends, opt-outs, people, encryption keys, the client version, webhooks and users of the console. Works on the Redis of REDIS_URL; the API need not run.',
  )
  .option('--json', 'print JSON instead of text')
  .option('--workspace <name>', 'the workspace to work in', readWorkspaceName, DEFAULT_WORKSPACE)
  .configureHelp({ showGlobalOptions: true })
  .showHelpAfterError();

addWorkspaceCommands(program);
addTokenCommands(program);
addDeviceCommands(program);
addSendCommands(program);
addOptOutCommands(program);
addPersonCommands(program);
addKeyCommands(program);
addVersionCommands(program);
addUserCommands(program);
addWebhookCommands(program);
addTopCommand(program);

// The program that reads it has enough, as in `webhooks listen | head`.
process.stdout.on('error', () => process.exit());
try {
  await program.parseAsync();
} catch (thrown) {
  process.stderr.write(`error: ${toError(thrown).message}\n`);
  process.exitCode = 1;
}
// The Redis client keeps timers of commands that have long been answered; the process must not wait for them.
process.stdout.write('', () => process.exit());
