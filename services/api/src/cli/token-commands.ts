import { isDeviceId } from '@gateway/contracts/ids';
import { type ApiToken, createApiToken, isUsable, listApiTokens, revokeApiToken } from '@gateway/store/api-tokens';
import { type Command, InvalidArgumentError } from 'commander';
import { type CliContext, runner } from './cli-context.js';
import { type Row, showTime } from './output.js';
import { parseLifetime } from './parse-lifetime.js';

interface CreateOptions {
  name: string;
  device?: string;
  /** Lifetime in ms. */
  expires?: number;
}

/** `token create | list | revoke`. */
export function addTokenCommands(program: Command): void {
  const run = runner(program);
  const token = program.command('token').description('API tokens: what callers of the API show to be let in');
  token
    .command('create')
    .description('make a token and show it, this once')
    .requiredOption('--name <name>', 'what the token is for, for people', readName)
    .option('--device <id>', 'let it act on this device only; without it on the default device', readDevice)
    .option('--expires <time>', 'end it after 90d, 12h, 30m or 1y; without it never', readLifetime)
    .action((options: CreateOptions) => run((context) => create(context, options)));
  token
    .command('list')
    .description('show all tokens, without their values')
    .action(() => run(list));
  token
    .command('revoke')
    .description('stop a token within a second, everywhere and for good')
    .argument('<keyId>', 'the KEY of the list, or the whole token')
    .action((keyId: string) => run((context) => revoke(context, keyId)));
}

async function create(
  { store, workspace, output }: CliContext,
  { name, device, expires }: CreateOptions,
): Promise<void> {
  const { value, token } = await createApiToken(store, workspace, {
    name,
    ...(device !== undefined && { device }),
    ...(expires !== undefined && { expiresAtMs: Date.now() + expires }),
  });
  output.show({ token: value, ...describe(token) });
  output.note('\nKeep the token now: it is stored as a hash only and cannot be shown again.');
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
      created: showTime(token.createdAtMs),
      expires: showTime(token.expiresAtMs),
      'last used': showTime(token.lastUsedAtMs),
    };
  };
  output.list(tokens.map(describe), toRow, 'There are no tokens yet. Make one: token create --name <name>');
}

async function revoke({ store, workspace, output }: CliContext, given: string): Promise<void> {
  const keyId = /^gw_([^_]+)_/.exec(given)?.[1] ?? given;
  const token = await revokeApiToken(store, workspace, keyId);
  if (!token) throw new Error(`there is no token with the key ${keyId}`);
  output.show(describe(token));
}

/** A token without its hash. */
function describe(token: ApiToken) {
  const time = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  return {
    keyId: token.keyId,
    name: token.name,
    device: token.device,
    state: stateOf(token),
    createdAt: time(token.createdAtMs),
    expiresAt: time(token.expiresAtMs),
    revokedAt: time(token.revokedAtMs),
    lastUsedAt: time(token.lastUsedAtMs),
  };
}

function stateOf(token: ApiToken): 'active' | 'revoked' | 'expired' {
  if (isUsable(token, Date.now())) return 'active';
  return token.revokedAtMs === undefined ? 'expired' : 'revoked';
}

function readName(text: string): string {
  if (text.trim() === '' || text.length > 100) throw new InvalidArgumentError('It takes 1 to 100 characters.');
  return text.trim();
}

function readDevice(text: string): string {
  if (!isDeviceId(text)) throw new InvalidArgumentError('It takes 1 to 40 of a-z, 0-9 and -.');
  return text;
}

function readLifetime(text: string): number {
  const ms = parseLifetime(text);
  if (ms === undefined) throw new InvalidArgumentError('It takes a number and a unit: 90d, 12h, 30m or 1y.');
  return ms;
}
