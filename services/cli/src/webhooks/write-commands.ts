import { makeWebhookSecret, SIGNATURE_SCHEMES, verifierOf } from '@gateway/contracts/webhooks/signature';
import { DEFAULT_WEBHOOK_SETTINGS, SUBSCRIBABLE_TYPES, WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import { assertAllowed, type FetchPolicy } from '@gateway/egress/fetch-policy';
import { INPUT_PREFS } from '@gateway/egress/input/input-kinds';
import { newWebhookInput, webhookChangeInput } from '@gateway/egress/input/webhook-input';
import { describeWebhook } from '@gateway/store/webhooks/describe-webhook';
import { changeWebhook, createWebhook } from '@gateway/store/webhooks/webhooks';
import { type Command, InvalidArgumentError } from 'commander';
import type { ObjectSchema } from 'joi';
import { type CliContext, proofOf, type RunCommand } from '../cli-context.js';
import { foundWebhook } from './found-webhook.js';
import { readTypes } from './read-types.js';

/** As they are given: what they may say is checked as it is for the API. */
interface Options {
  url?: string;
  signature?: string;
  types?: string[];
  description?: string;
  header?: [name: string, value: string][];
  /** `false`: none. */
  headers?: boolean;
  devices?: string[];
  allDevices?: true;
  content?: string;
  numbers?: string;
  gatherSeconds?: string;
  order?: string;
  concurrency?: string;
}

/** `webhooks create | change`. */
export function addWriteCommands(webhooks: Command, run: RunCommand): void {
  withSettings(webhooks.command('create'))
    .description('create an endpoint and show its secret, which cannot be shown again; then let it be tested')
    .argument('<url>', 'https, or http in a network of WEBHOOK_NETWORKS')
    .option('--signature <scheme>', `${SIGNATURE_SCHEMES.join(' or ')}: with a secret, or a key pair; default: v1`)
    .action((url: string, options: Options) => run((context) => create(context, { ...options, url })));
  withSettings(webhooks.command('change'))
    .description('change what is given; at another URL or with other headers it must pass its test again')
    .argument('<id>', 'the id in the list')
    .option('--url <url>', 'https, or http in a network of WEBHOOK_NETWORKS')
    .option('--no-headers', 'send none of its own any more')
    .option('--all-devices', 'tell of all devices of the workspace')
    .action((id: string, options: Options) => run((context) => change(context, id, options)));
}

function withSettings(command: Command): Command {
  return command
    .option('--types <names>', `some of ${SUBSCRIBABLE_TYPES.join()}; default: all but message.<status>`, readTypes)
    .option('--description <text>', 'for people')
    .option('--header <name: value>', 'sent with each request; again for each, instead of those before', readHeader)
    .option('--devices <names>', 'only what happens on these, separated by commas', (text) => text.split(','))
    .option('--content <what>', 'full, or none: without what people write')
    .option('--numbers <how>', 'full, or masked')
    .option(
      '--gather-seconds <seconds>',
      `how long changes of lists are gathered, 1 to ${WEBHOOK_LIMITS.maxGatherSeconds}`,
    )
    .option('--order <which>', 'recipient, or strict: what is refused holds up all that comes after it')
    .option('--concurrency <requests>', `at a time, of what has one of its own; 1 to ${WEBHOOK_LIMITS.maxConcurrency}`);
}

async function create(
  { store, workspace, output, record, webhookPolicy }: CliContext,
  options: Options,
): Promise<void> {
  const { url, headers = {}, signature, ...given } = check(newWebhookInput, options);
  refuseUrl(url, webhookPolicy);
  const secret = makeWebhookSecret(signature);
  const settings = { ...DEFAULT_WEBHOOK_SETTINGS, ...given };
  const wanted = { settings, target: { url, headers }, secrets: [{ secret }] };
  const made = await createWebhook(store, workspace, wanted, await proofOf({ store, workspace }));
  if (made === 'full') throw new Error(`there are ${WEBHOOK_LIMITS.maxPerWorkspace} endpoints already`);
  await record('webhook.created', made.id);
  output.show({ secret: verifierOf(secret), ...describeWebhook(made) });
  output.note(
    `\nKeep the secret now: it cannot be shown again. When your server verifies with it: webhooks test ${made.id}`,
  );
}

async function change(
  { store, workspace, output, record, webhookPolicy }: CliContext,
  id: string,
  options: Options,
): Promise<void> {
  const { url, headers, ...settings } = check(webhookChangeInput, options);
  if (url !== undefined) refuseUrl(url, webhookPolicy);
  const target = { ...(url !== undefined && { url }), ...(headers && { headers }) };
  const changed = foundWebhook(id, await changeWebhook(store, workspace, id, { settings, target }));
  await record('webhook.changed', id);
  output.show(describeWebhook(changed));
  if (changed.status === 'unverified') output.note(`\nNothing is sent to it before it passes: webhooks test ${id}`);
}

/** Throws with all that is wrong. */
function check<Input>(schema: ObjectSchema<Input>, options: Options): Input {
  const { header, headers, devices, allDevices, ...given } = options;
  if (header && headers === false) throw new Error('give either --header, or --no-headers');
  if (devices && allDevices) throw new Error('give either --devices, or --all-devices');
  const wanted = {
    ...given,
    ...((header || headers === false) && { headers: toHeaders(header ?? []) }),
    ...((devices || allDevices) && { devices: devices ?? null }),
  };
  const { value, error } = schema.validate(wanted, INPUT_PREFS);
  if (!error) return value;
  const problems = error.details.map(({ path, message }) =>
    path.length > 0 ? `${path.join('.')}: ${message}` : message,
  );
  throw new Error(problems.join('; '));
}

function toHeaders(given: readonly (readonly [name: string, value: string])[]): Record<string, string> {
  const headers = Object.fromEntries(given);
  if (Object.keys(headers).length < given.length) throw new Error('give each header once');
  return headers;
}

function readHeader(line: string, before: Options['header'] = []): [name: string, value: string][] {
  const [, name, value] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('Expected a name, a colon and a value.');
  return [...before, [name.trim(), value]];
}

function refuseUrl(url: string, policy: FetchPolicy): void {
  try {
    assertAllowed(new URL(url), policy);
  } catch {
    throw new Error('not a URL by https, or one in a network that is not allowed');
  }
}
