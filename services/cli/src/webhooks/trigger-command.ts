import { randomBytes } from 'node:crypto';
import { exampleOf } from '@gateway/contracts/events/event-examples';
import { EVENT_DATA, type GatewayEvent } from '@gateway/contracts/events/events';
import { hideParts } from '@gateway/contracts/webhooks/hide-parts';
import type { WebhookAttempt } from '@gateway/contracts/webhooks/webhook';
import { postWebhook } from '@gateway/egress/post-webhook';
import { systemClock } from '@gateway/runtime/clock';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { type ListedWebhook, listWebhooks, type Webhook } from '@gateway/store/webhooks/webhooks';
import { Argument, type Command } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';
import { noSuchWebhook } from './found-webhook.js';
import { localEndpoint } from './local-endpoint.js';

/** `webhooks trigger TYPE`: an example of an event, to those who ask for that type, or to a server on this machine. */
export function addTriggerCommand(webhooks: Command, run: RunCommand): void {
  webhooks
    .command('trigger')
    .description(
      'post an example of an event, with `test: true`, to each endpoint that asks for its type; nothing has happened',
    )
    .addArgument(new Argument('<type>', 'of the event').choices(Object.keys(EVENT_DATA)))
    .option('--to <id or url>', 'to this endpoint alone, or to a server on this machine')
    .action((type: string, { to }: { to?: string }) => run((context) => trigger(context, type, to)));
}

interface Posted {
  to: string;
  attempt: WebhookAttempt;
}

async function trigger(context: CliContext, type: string, to: string | undefined): Promise<void> {
  const { output } = context;
  const event = makeExample(type);
  const signal = new AbortController().signal;
  const posted: Posted[] = [];
  if (to?.includes('://')) {
    const endpoint = localEndpoint(context, to);
    output.note(`Signed with ${endpoint.secret}\n`);
    posted.push({ to, attempt: await endpoint.post(event, signal) });
  } else {
    const webhooks = await findEndpoints(context, type, to);
    posted.push(...(await Promise.all(webhooks.map((webhook) => postTo(context, webhook, { event, signal })))));
  }
  const shown = posted.map(({ to, attempt: { status, error, tookMs } }) => {
    return { to, event: event.id, type, answered: status ?? error, tookMs };
  });
  const toRow = (index: number) => {
    const { to, event, answered, tookMs } = shown[index]!;
    return { to, event, answered: String(answered), ms: String(tookMs) };
  };
  output.list(shown, toRow, `No active endpoint asks for ${type}.`);
}

/** Those that get events now: the others get nothing but their test. */
async function findEndpoints(
  { store, workspace }: CliContext,
  type: string,
  id: string | undefined,
): Promise<Webhook[]> {
  const all = await listWebhooks(store, workspace);
  const isReadable = (each: ListedWebhook): each is Webhook => each.target !== undefined;
  const isReady = ({ status }: Webhook) => status === 'active' || status === 'failing';
  if (id === undefined)
    return all.filter(isReadable).filter((each) => isReady(each) && each.settings.types.includes(type));
  const webhook = all.find((each) => each.id === id);
  if (!webhook) throw noSuchWebhook(id);
  if (!isReadable(webhook))
    throw new Error(`webhook ${id} is sealed with an encryption key that is not configured here`);
  if (!isReady(webhook)) throw new Error(`webhook ${id} is ${webhook.status}: it gets no events`);
  return [webhook];
}

async function postTo(
  { store, workspace, webhookPolicy, record }: CliContext,
  { id, target, secrets, settings }: Webhook,
  { event, signal }: { event: GatewayEvent; signal: AbortSignal },
): Promise<Posted> {
  const body = Buffer.from(JSON.stringify(hideParts(event, settings)));
  const request = { target, secrets, id: event.id, body };
  const { attempt } = await postWebhook(request, { policy: webhookPolicy, clock: systemClock, signal });
  await recordAttempt(store, workspace, id, { attempt });
  await record('webhook.tested', id);
  return { to: id, attempt };
}

/** Another one each time. */
function makeExample(type: string): GatewayEvent {
  const at = new Date(systemClock.nowMs()).toISOString();
  return { ...exampleOf(type, { at, digits: randomBytes(9).toString('hex').toUpperCase() }), test: true };
}
