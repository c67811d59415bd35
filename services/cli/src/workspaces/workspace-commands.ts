import { isWorkspaceName, type Workspace } from '@gateway/contracts/ids';
import { systemClock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import { deleteWorkspace, findWorkspace } from '@gateway/store/workspace/delete-workspace';
import {
  readWorkspaceLimits,
  setWorkspaceLimits,
  type WorkspaceLimit,
  type WorkspaceLimits,
} from '@gateway/store/workspace/workspace-limits';
import { createWorkspace, hasWorkspace, listWorkspaces } from '@gateway/store/workspace/workspaces';
import { type Command, InvalidArgumentError } from 'commander';
import { type CliContext, proofOf, type RunCommand } from '../cli-context.js';
import { showTime } from '../output.js';

/** What `--devices` and the others give: a number, or `none`. */
type LimitOptions = Partial<Record<WorkspaceLimit, number | 'none'>>;

interface DeleteOptions {
  wait: number;
  dryRun?: true;
  yes?: true;
}

/** `workspace create | list | limit | delete`. */
export function addWorkspaceCommands(program: Command, run: RunCommand): void {
  const workspace = program
    .command('workspace')
    .description('workspaces: separate tokens, devices, opt-outs and files in one gateway');
  const limited = (command: Command) =>
    command
      .argument('<name>', '1 to 40 of a-z, 0-9 and -', readWorkspaceName)
      .option('--devices <count>', 'devices that it may have', readLimit)
      .option('--backlog <count>', 'messages that may wait, of all its devices', readLimit)
      .option('--file-bytes <count>', 'bytes of files', readLimit)
      .option('--opt-outs <count>', 'people whom callers may put on its list of opt-outs', readLimit);
  limited(workspace.command('create'))
    .description('create a workspace; other commands work in it with --workspace')
    .action((name: Workspace, limits: LimitOptions) => run((context) => create(context, name, limits)));
  limited(workspace.command('limit'))
    .description('show or set what a workspace may have; "none" leaves it to the limits of the gateway')
    .action((name: Workspace, limits: LimitOptions) => run((context) => limit(context, name, limits)));
  workspace
    .command('list')
    .description('show all workspaces')
    .action(() => run(list));
  workspace
    .command('delete')
    .description('log out its accounts, and delete everything of it; safe to repeat')
    .argument('<name>', 'as in the list', readWorkspaceName)
    .option('--wait <seconds>', 'how long processes may take to log accounts out', readSeconds, 60)
    .option('--dry-run', 'only say how much there is of it')
    .option('--yes', 'it cannot be taken back')
    .action((name: Workspace, options: DeleteOptions) => run((context) => removeOrShow(context, name, options)));
}

export function readWorkspaceName(text: string): Workspace {
  if (!isWorkspaceName(text)) throw new InvalidArgumentError('It takes 1 to 40 of a-z, 0-9 and -.');
  return text;
}

function readLimit(text: string): number | 'none' {
  if (text === 'none') return text;
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It takes a whole number, or "none".');
  return Number(text);
}

function readSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('It takes a number of seconds.');
  return Number(text);
}

async function create(context: CliContext, name: Workspace, limits: LimitOptions): Promise<void> {
  const { store, output, record } = context;
  const madeAtMs = systemClock.nowMs();
  if (!(await createWorkspace(store, name, madeAtMs)))
    throw new Error(`workspace ${name} exists already, or is being deleted`);
  await change(store, name, limits, { madeAtMs });
  await record('workspace.created', name);
  output.show({ workspace: name, ...(await readWorkspaceLimits(store, name)) });
  output.note(`\nCreate a token in it: token create --workspace ${name} --name <name>`);
}

async function limit({ store, output, record }: CliContext, name: Workspace, limits: LimitOptions): Promise<void> {
  if (!(await hasWorkspace(store, name))) throw new Error(`there is no workspace ${name}`);
  if (await change(store, name, limits)) await record('workspace.limited', name);
  output.show({ workspace: name, ...(await readWorkspaceLimits(store, name)) });
}

async function change(
  store: Store,
  name: Workspace,
  limits: LimitOptions,
  of: { madeAtMs?: number } = {},
): Promise<boolean> {
  if (Object.keys(limits).length === 0) return false;
  await setWorkspaceLimits(store, name, toLimits(limits), await proofOf({ store, workspace: name }, of));
  return true;
}

function toLimits(limits: LimitOptions): { [Name in WorkspaceLimit]?: number | undefined } {
  return Object.fromEntries(
    Object.entries(limits).map(([name, value]) => [name, value === 'none' ? undefined : value]),
  );
}

async function list({ store, output }: CliContext): Promise<void> {
  const workspaces = await listWorkspaces(store);
  const rows = await Promise.all(
    workspaces.map(async ({ name, createdAtMs }) => ({
      ...{ name, createdAtMs, limits: await readWorkspaceLimits(store, name) },
    })),
  );
  const described = rows.map(({ name, createdAtMs, limits }) => ({
    workspace: name,
    createdAt: createdAtMs === undefined ? undefined : new Date(createdAtMs).toISOString(),
    ...limits,
  }));
  const toRow = (index: number) => {
    const { name, createdAtMs, limits } = rows[index]!;
    return { workspace: name, created: showTime(createdAtMs), limits: showLimits(limits) };
  };
  output.list(described, toRow, '');
}

function showLimits(limits: WorkspaceLimits): string {
  return Object.entries(limits)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

async function removeOrShow(context: CliContext, name: Workspace, { wait, dryRun, yes }: DeleteOptions): Promise<void> {
  if (dryRun) {
    const { found, nodes, keysLookedAt } = await findWorkspace(context.store, name, { withName: true });
    const { keys, entries } = found;
    return context.output.show({ workspace: name, keys: keys.length, entries: entries.length, nodes, keysLookedAt });
  }
  if (!yes) throw new Error('it cannot be taken back: add --yes, or --dry-run to see how much there is of it');
  await remove(context, name, wait * 1000);
}

async function remove({ store, output, record }: CliContext, name: Workspace, logoutMs: number): Promise<void> {
  const { devices, notLoggedOut, deleted, proof } = await deleteWorkspace(store, name, { logoutMs });
  await record('workspace.deleted', name);
  const left = proof.found.keys.length + proof.found.entries.length;
  output.show({
    ...{ workspace: name, devices, notLoggedOut: notLoggedOut.join(', ') || undefined },
    ...{ keysDeleted: deleted.keys, entriesDeleted: deleted.entries },
    ...{
      lookedAt: `${proof.keysLookedAt} keys and ${proof.entriesLookedAt} shared entries on ${proof.nodes} nodes`,
      left,
    },
  });
  if (notLoggedOut.length > 0) output.note('\nNo process has logged these accounts out: remove the link in the phone.');
  output.note('\nLines of the audit log that tell of it stay for 90 days: they are of the installation.');
  if (left > 0) throw new Error(`${left} were written meanwhile: delete the workspace again`);
}
