import { isWorkspaceName, type Workspace } from '@gateway/contracts/ids';
import { createWorkspace, listWorkspaces, type WorkspaceEntry } from '@gateway/store/workspace/workspaces';
import { type Command, InvalidArgumentError } from 'commander';
import { type CliContext, runner } from '../cli-context.js';
import { showTime } from '../output.js';

/** `workspace create | list`. */
export function addWorkspaceCommands(program: Command): void {
  const run = runner(program);
  const workspace = program
    .command('workspace')
    .description('workspaces: separate tokens, devices, opt-outs and files in one gateway');
  workspace
    .command('create')
    .description('create a workspace; other commands work in it with --workspace')
    .argument('<name>', '1 to 40 of a-z, 0-9 and -', readWorkspaceName)
    .action((name: Workspace) => run((context) => create(context, name)));
  workspace
    .command('list')
    .description('show all workspaces')
    .action(() => run(list));
}

export function readWorkspaceName(text: string): Workspace {
  if (!isWorkspaceName(text)) throw new InvalidArgumentError('It takes 1 to 40 of a-z, 0-9 and -.');
  return text;
}

async function create({ store, output, record }: CliContext, name: Workspace): Promise<void> {
  if (!(await createWorkspace(store, name))) throw new Error(`workspace ${name} exists already`);
  await record('workspace.created', name);
  output.show({ workspace: name });
  output.note(`\nCreate a token in it: token create --workspace ${name} --name <name>`);
}

async function list({ store, output }: CliContext): Promise<void> {
  const workspaces = await listWorkspaces(store);
  const toRow = (index: number) => {
    const { name, createdAtMs } = workspaces[index]!;
    return { workspace: name, created: showTime(createdAtMs) };
  };
  output.list(workspaces.map(describe), toRow, '');
}

function describe({ name, createdAtMs }: WorkspaceEntry) {
  return { workspace: name, createdAt: createdAtMs === undefined ? undefined : new Date(createdAtMs).toISOString() };
}
