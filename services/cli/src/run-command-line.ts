import { DEFAULT_WORKSPACE } from '@gateway/contracts/ids';
import { toError } from '@gateway/runtime/errors';
import { Command, CommanderError } from 'commander';
import { runner, type Terminal } from './cli-context.js';
import { addDeviceCommands } from './devices/device-commands.js';
import { addTopCommand } from './devices/top-devices.js';
import { addVersionCommands } from './devices/version-commands.js';
import { addEventCommands } from './events/event-commands.js';
import { addMediaCommand } from './events/media-command.js';
import { addKeyCommands } from './keys/key-commands.js';
import { addOptOutCommands } from './people/opt-out-commands.js';
import { addPersonCommands } from './people/person-commands.js';
import { addSendCommands } from './sends/send-commands.js';
import { addTokenCommands } from './tokens/token-commands.js';
import { addUserCommands } from './users/user-commands.js';
import { addWebhookCommands } from './webhooks/webhook-commands.js';
import { addWorkspaceCommands, readWorkspaceName } from './workspaces/workspace-commands.js';

/**
 * The operators' command line, such as `token create --name my-app`. Answers the exit code, and writes to the terminal why it
 * is not 0.
 */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = new Command('cli')
    .description(
      'Manages workspaces, tokens, devices, sends, opt-outs, people, encryption keys, the client version, webhooks and users of the console; shows events, fetches files that people sent. Works on the Redis of REDIS_URL; the API need not run.',
    )
    .option('--json', 'print JSON instead of text')
    .option('--workspace <name>', 'the workspace to work in', readWorkspaceName, DEFAULT_WORKSPACE)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
    })
    .exitOverride()
    .showHelpAfterError();
  const run = runner(program, terminal);

  addWorkspaceCommands(program, run);
  addTokenCommands(program, run);
  addDeviceCommands(program, run);
  addSendCommands(program, run);
  addOptOutCommands(program, run);
  addPersonCommands(program, run);
  addKeyCommands(program, run);
  addVersionCommands(program, run);
  addUserCommands(program, run);
  addWebhookCommands(program, run);
  addEventCommands(program, run);
  addMediaCommand(program, run);
  addTopCommand(program, run);

  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode;
    terminal.stderr.write(`error: ${toError(thrown).message}\n`);
    return 1;
  }
}
