import { verifierOf } from '@gateway/contracts/webhooks/signature';
import { makeTestEvent } from '@gateway/contracts/webhooks/test-event';
import { WEBHOOK_LIMITS, wasTaken } from '@gateway/contracts/webhooks/webhook';
import { postWebhook } from '@gateway/egress/post-webhook';
import { systemClock } from '@gateway/runtime/clock';
import { describeAttempt, describeWebhook } from '@gateway/store/webhooks/describe-webhook';
import { listAttempts, recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import {
  deleteWebhook,
  findWebhook,
  listWebhooks,
  pauseWebhook,
  readWebhook,
  resumeWebhook,
  rotateSecret,
} from '@gateway/store/webhooks/webhooks';
import { type Command, InvalidArgumentError } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';
import { showTime } from '../output.js';
import { readCount } from '../read-count.js';
import { foundWebhook, noSuchWebhook } from './found-webhook.js';
import { addListenCommands } from './listen-commands.js';
import { addParkedCommands } from './parked-commands.js';
import { addTriggerCommand } from './trigger-command.js';
import { addWriteCommands } from './write-commands.js';

const ATTEMPTS_SHOWN = 20;
const ID = 'the id in the list';

/**
 * `webhooks create | change | list | show | test | rotate | pause | resume | deliveries | parked | replay | delete | listen | forward | trigger`.
 */
export function addWebhookCommands(program: Command, run: RunCommand): void {
  const webhooks = program.command('webhooks').description('webhooks: endpoints that are told what happens');
  const withId = (name: string, description: string, work: (context: CliContext, id: string) => Promise<void>) =>
    webhooks
      .command(name)
      .description(description)
      .argument('<id>', ID)
      .action((id: string) => run((context) => work(context, id)));
  addWriteCommands(webhooks, run);
  webhooks
    .command('list')
    .description('show all endpoints')
    .action(() => run(list));
  withId('show', 'show one endpoint', show);
  withId('test', 'post a webhook.test; after a 2xx the endpoint is told what happens', test);
  webhooks
    .command('rotate')
    .description('make another secret and show it; the old one goes on signing for a while')
    .argument('<id>', ID)
    .option(
      '--overlap <hours>',
      `how long, 0 to ${WEBHOOK_LIMITS.maxOverlapHours}`,
      readHours,
      WEBHOOK_LIMITS.overlapHours,
    )
    .action((id: string, { overlap }: { overlap: number }) => run((context) => rotate(context, id, overlap)));
  withId('pause', 'post nothing more; what happens waits for 7 days', pause);
  withId('resume', 'go on where it was, after a pause or when it was disabled', resume);
  webhooks
    .command('deliveries')
    .description(`show the last ${ATTEMPTS_SHOWN} requests (see --limit) and what came back, the newest first`)
    .argument('<id>', ID)
    .option('--limit <count>', `how many; ${WEBHOOK_LIMITS.keptAttempts} are kept`, readCount, ATTEMPTS_SHOWN)
    .action((id: string, { limit }: { limit: number }) => run((context) => deliveries(context, id, limit)));
  addParkedCommands(webhooks, run);
  withId('delete', 'delete an endpoint, and all that waits for it', remove);
  addListenCommands(webhooks, run);
  addTriggerCommand(webhooks, run);
}

async function list({ store, workspace, output }: CliContext): Promise<void> {
  const webhooks = await listWebhooks(store, workspace);
  const toRow = (index: number) => {
    const { id, status, target, settings, createdAtMs } = webhooks[index]!;
    const server = target ? new URL(target.url).origin : 'keys_unreadable';
    return { id, status, server, created: showTime(createdAtMs), description: settings.description };
  };
  output.list(webhooks.map(describeWebhook), toRow, 'There are no webhooks yet. Create one: webhooks create <url>');
}

async function show(context: CliContext, id: string): Promise<void> {
  context.output.show(describeWebhook(foundWebhook(id, await findWebhook(context.store, context.workspace, id))));
}

async function test({ store, workspace, output, record, webhookPolicy }: CliContext, id: string): Promise<void> {
  const { target, secrets, revision } = foundWebhook(id, await readWebhook(store, workspace, id));
  const deps = { policy: webhookPolicy, clock: systemClock, signal: new AbortController().signal };
  const { attempt } = await postWebhook({ target, secrets, ...makeTestEvent(id, systemClock.nowMs()) }, deps);
  const verifiesRevision = wasTaken(attempt) ? revision : undefined;
  const status = await recordAttempt(store, workspace, id, { attempt, verifiesRevision });
  await record('webhook.tested', id);
  const { status: answered, error, tookMs, answer } = attempt;
  output.show({ delivered: wasTaken(attempt), answered: answered ?? error, tookMs, answer, webhookStatus: status });
}

async function rotate({ store, workspace, output, record }: CliContext, id: string, overlapHours: number) {
  const rotated = await rotateSecret(store, workspace, id, { overlapHours, nowMs: systemClock.nowMs() });
  const webhook = foundWebhook(id, rotated);
  await record('webhook.secret_rotated', id);
  output.show({ secret: verifierOf(webhook.secrets[0]!.secret), ...describeWebhook(webhook) });
  output.note('\nKeep the secret now: it cannot be shown again.');
}

async function pause({ store, workspace, output, record }: CliContext, id: string): Promise<void> {
  const paused = foundWebhook(id, await pauseWebhook(store, workspace, id));
  await record('webhook.paused', id);
  output.show(describeWebhook(paused));
}

async function resume({ store, workspace, output, record }: CliContext, id: string): Promise<void> {
  const resumed = foundWebhook(id, await resumeWebhook(store, workspace, id));
  await record('webhook.resumed', id);
  output.show(describeWebhook(resumed));
}

async function deliveries({ store, workspace, output }: CliContext, id: string, limit: number): Promise<void> {
  foundWebhook(id, await findWebhook(store, workspace, id));
  const attempts = await listAttempts(store, workspace, id, limit);
  const toRow = (index: number) => {
    const { webhookId, atMs, tookMs, status, error } = attempts[index]!;
    return { at: showTime(atMs), request: webhookId, answered: String(status ?? error), ms: String(tookMs) };
  };
  output.list(attempts.map(describeAttempt), toRow, 'Nothing has been posted yet.');
}

async function remove({ store, workspace, output, record }: CliContext, id: string): Promise<void> {
  if (!(await deleteWebhook(store, workspace, id))) throw noSuchWebhook(id);
  await record('webhook.deleted', id);
  output.show({ deleted: id });
}

function readHours(text: string): number {
  const hours = Number(text);
  if (text.trim() === '' || !(hours >= 0 && hours <= WEBHOOK_LIMITS.maxOverlapHours)) {
    throw new InvalidArgumentError(`Expected 0 to ${WEBHOOK_LIMITS.maxOverlapHours} hours.`);
  }
  return hours;
}
