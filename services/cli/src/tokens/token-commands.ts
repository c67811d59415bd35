import { API_TOKEN_SCOPES, type ApiTokenScope, DEFAULT_SCOPES, parseScopes } from '@gateway/contracts/api-token';
import { DEFAULT_WORKSPACE, isDeviceId } from '@gateway/contracts/ids';
import { systemClock } from '@gateway/runtime/clock';
import {
  type ApiToken,
  createApiToken,
  isUsable,
  listApiTokens,
  revokeApiToken,
  rotateApiToken,
  setApiTokenScopes,
} from '@gateway/store/workspace/tokens/api-tokens';
import { findWorkspaceOfToken } from '@gateway/store/workspace/tokens/token-index';
import { type Command, InvalidArgumentError } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';
import { type Output, type Row, showTime } from '../output.js';
import { parseLifetime } from './parse-lifetime.js';

interface CreateOptions {
  name: string;
  device?: string;
  scopes?: ApiTokenScope[];
  /** Lifetime in ms. */
  expires?: number;
}

const KEY_ARGUMENT = 'the KEY in the list, or the whole token';

/** `token create | list | rotate | scopes | revoke`. */
export function addTokenCommands(program: Command, run: RunCommand): void {
  const token = program.command('token').description('API tokens: credentials for callers of the API');
  token
    .command('create')
    .description('create a token and show it; it cannot be shown again')
    .requiredOption('--name <name>', 'a description for people', readName)
    .option('--device <id>', 'restrict it to this device; default: it uses the default device', readDevice)
    .option(
      '--scopes <names>',
      `what it may do: some of ${API_TOKEN_SCOPES.join()}; default: ${DEFAULT_SCOPES.join()}`,
      readScopes,
    )
    .option('--expires <time>', 'lifetime, such as 90d, 12h, 30m or 1y; default: unlimited', readLifetime)
    .action((options: CreateOptions) => run((context) => create(context, options)));
  token
    .command('list')
    .description('show all tokens, without their values')
    .action(() => run(list));
  token
    .command('rotate')
    .description(
      'create a token to replace another, which works until it is revoked; the new one cannot be shown again',
    )
    .argument('<keyId>', KEY_ARGUMENT, readKeyId)
    .option('--expires <time>', 'lifetime, such as 90d, 12h, 30m or 1y; default: that of the old one', readLifetime)
    .action((keyId: string, { expires }: { expires?: number }) => run((context) => rotate(context, keyId, expires)));
  token
    .command('scopes')
    .description('change what a token may do; takes effect within a second')
    .argument('<keyId>', KEY_ARGUMENT, readKeyId)
    .argument('<names>', `some of ${API_TOKEN_SCOPES.join()}`, readScopes)
    .action((keyId: string, scopes: ApiTokenScope[]) => run((context) => changeScopes(context, keyId, scopes)));
  token
    .command('revoke')
    .description('revoke a token for good; takes effect within a second')
    .argument('<keyId>', KEY_ARGUMENT, readKeyId)
    .action((keyId: string) => run((context) => revoke(context, keyId)));
}

async function create(
  { store, workspace, output, record }: CliContext,
  { name, device, scopes, expires }: CreateOptions,
): Promise<void> {
  const wanted = {
    name,
    ...(device !== undefined && { device }),
    ...(scopes && { scopes }),
    ...(expires !== undefined && { expiresAtMs: systemClock.nowMs() + expires }),
  };
  const { value, token } = await createApiToken(store, workspace, wanted, { mustBeThere: true });
  await record('token.created', sayToken(token));
  showOnce(output, value, token);
}

async function rotate(context: CliContext, keyId: string, expires: number | undefined): Promise<void> {
  const { store, workspace, output } = context;
  const expiresAtMs = expires === undefined ? undefined : systemClock.nowMs() + expires;
  const { value, token } = await found(context, keyId, await rotateApiToken(store, workspace, keyId, { expiresAtMs }));
  await context.record('token.rotated', `${sayToken(token)}, in place of ${keyId}`);
  showOnce(output, value, token);
  const where = workspace === DEFAULT_WORKSPACE ? '' : ` --workspace ${workspace}`;
  output.note(`The old one works until you revoke it: token revoke ${keyId}${where}`);
}

async function changeScopes(context: CliContext, keyId: string, scopes: readonly ApiTokenScope[]): Promise<void> {
  const { store, workspace, output } = context;
  const token = await found(context, keyId, await setApiTokenScopes(store, workspace, keyId, scopes));
  await context.record('token.scopes_set', `${sayToken(token)}: ${token.scopes.join()}`);
  output.show(describe(token));
}

/** As the audit log names it. */
function sayToken({ name, keyId }: ApiToken): string {
  return `${name} (${keyId})`;
}

function showOnce(output: Output, value: string, token: ApiToken): void {
  output.show({ token: value, ...describe(token) });
  output.note('\nKeep the token now: it is stored as a hash only and cannot be shown again.');
}

async function found<Thing>({ store }: CliContext, keyId: string, thing: Thing | undefined): Promise<Thing> {
  if (thing) return thing;
  const elsewhere = await findWorkspaceOfToken(store, keyId);
  throw new Error(
    elsewhere
      ? `the token with the key ${keyId} is in another workspace: --workspace ${elsewhere}`
      : `there is no token with the key ${keyId}`,
  );
}

async function list({ store, workspace, output }: CliContext): Promise<void> {
  const tokens = await listApiTokens(store, workspace);
  const toRow = (index: number): Row => {
    const token = tokens[index]!;
    return {
      key: token.keyId,
      name: token.name,
      device: token.device ?? '-',
      state: stateOf(token),
      scopes: token.scopes.join(),
      created: showTime(token.createdAtMs),
      expires: showTime(token.expiresAtMs),
      'last used': showTime(token.lastUsedAtMs),
    };
  };
  output.list(tokens.map(describe), toRow, 'There are no tokens yet. Create one: token create --name <name>');
}

async function revoke(context: CliContext, keyId: string): Promise<void> {
  const { store, workspace, output } = context;
  const token = await found(context, keyId, await revokeApiToken(store, workspace, keyId));
  await context.record('token.revoked', sayToken(token));
  output.show(describe(token));
}

/** A token without its hash. */
function describe(token: ApiToken) {
  const time = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  return {
    keyId: token.keyId,
    workspace: token.workspace,
    name: token.name,
    device: token.device,
    scopes: token.scopes,
    owner: token.owner,
    state: stateOf(token),
    createdAt: time(token.createdAtMs),
    expiresAt: time(token.expiresAtMs),
    revokedAt: time(token.revokedAtMs),
    lastUsedAt: time(token.lastUsedAtMs),
  };
}

function stateOf(token: ApiToken): 'active' | 'revoked' | 'expired' {
  if (isUsable(token, systemClock.nowMs())) return 'active';
  return token.revokedAtMs === undefined ? 'expired' : 'revoked';
}

function readName(text: string): string {
  if (text.trim() === '' || text.length > 100) throw new InvalidArgumentError('Expected 1 to 100 characters.');
  return text.trim();
}

function readDevice(text: string): string {
  if (!isDeviceId(text)) throw new InvalidArgumentError('Expected 1 to 40 of a-z, 0-9 and -.');
  return text;
}

/** Of a whole token, its key id. */
function readKeyId(text: string): string {
  return /^gw_([^_]+)_/.exec(text)?.[1] ?? text;
}

function readScopes(text: string): ApiTokenScope[] {
  const scopes = parseScopes(text);
  if (!scopes) throw new InvalidArgumentError(`Expected some of ${API_TOKEN_SCOPES.join()}, separated by commas.`);
  return scopes;
}

function readLifetime(text: string): number {
  const ms = parseLifetime(text);
  if (ms === undefined) throw new InvalidArgumentError('Expected a number and a unit: 90d, 12h, 30m or 1y.');
  return ms;
}
