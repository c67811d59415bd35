import { FIRST_USER, isUserName, USER_ROLES, type UserRole } from '@gateway/contracts/console/users';
import { listAudit } from '@gateway/store/console/audit';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { createUser } from '@gateway/store/console/users';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';
import { showTime } from '../output.js';

interface NewUser {
  name: string;
  role: UserRole;
}

/** `user create | link | audit`: who may use the console, the way in without a password, and what was done there. */
export function addUserCommands(program: Command, run: RunCommand): void {
  const user = program.command('user').description('users of the console');
  user
    .command('create')
    .description('make a user, and show a link that signs them in, once')
    .requiredOption('--name <name>', 'such as an e-mail address', readName)
    .addOption(new Option('--role <role>', 'what they may do').choices(USER_ROLES).default('operator'))
    .action((options: NewUser) => run((context) => create(context, options)));
  user
    .command('link')
    .description('show a link that signs a user in, once, within ten minutes')
    .option('--name <name>', 'which user', readName, FIRST_USER)
    .action(({ name }: { name: string }) => run((context) => makeLink(context, name)));
  user
    .command('audit')
    .description('show the last hundred changes: in the console, at the command line, by the API (without sends)')
    .action(() => run(showAudit));
}

async function create(context: CliContext, { name, role }: NewUser): Promise<void> {
  if (!(await createUser(context.store, name, role))) throw new Error(`there is a user ${name} already`);
  await context.record('user.created', name);
  await makeLink(context, name);
}

async function makeLink({ store, output, dashboardUrl, record }: CliContext, name: string): Promise<void> {
  // A person who can run this may do all that an admin may.
  if (name === FIRST_USER) await createUser(store, name, 'admin');
  // After the `#`: browsers send that part to no server, and so it is in no log.
  const link = `${dashboardUrl}/console/sign-in#link=${await createOneTimeLink(store, name)}`;
  await record('user.link_made', name);
  output.show({ link });
  output.note('\nIt works once, for ten minutes.');
}

async function showAudit({ store, output }: CliContext): Promise<void> {
  const entries = await listAudit(store);
  const toRow = (index: number) => {
    const { atMs, user, action, target = '-', workspace = '-' } = entries[index]!;
    return { time: showTime(atMs), user, action, target, workspace };
  };
  output.list(entries, toRow, 'Nothing was done yet.');
}

function readName(text: string): string {
  if (!isUserName(text)) throw new InvalidArgumentError('It takes 1 to 64 of a-z, 0-9 and . _ @ -');
  return text;
}
