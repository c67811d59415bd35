import { systemClock } from '@gateway/runtime/clock';
import { listParked } from '@gateway/store/webhooks/delivering/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { type Command, InvalidArgumentError } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';
import { showTime } from '../output.js';

const PARKED_SHOWN = 100;

interface ReplayOptions {
  after?: number;
  before?: number;
}

/** `webhooks parked | replay`. */
export function addParkedCommands(webhooks: Command, run: RunCommand): void {
  webhooks
    .command('parked')
    .description(`show what an endpoint refuses while it takes other requests, the first ${PARKED_SHOWN}`)
    .argument('<id>', 'the id in the list')
    .action((id: string) => run((context) => parked(context, id)));
  webhooks
    .command('replay')
    .description(
      'tell events once more: some of `parked` or `deliveries`, or all of a time; what happens now is not delayed',
    )
    .argument('<id>', 'the id in the list')
    .argument('[ids...]', 'of events in `parked`, or of requests in `deliveries`')
    .option('--after <time>', 'all from then on, as 2026-11-21T19:00:00Z', readTime)
    .option('--before <time>', 'until then; default: now', readTime)
    .action((id: string, ids: string[], options: ReplayOptions) =>
      run((context) => replay(context, id, { ids, options })),
    );
}

async function parked({ store, workspace, output }: CliContext, id: string): Promise<void> {
  const found = await listParked(store, { workspace, id }, { limit: PARKED_SHOWN });
  const shown = found.map(({ events: [first, ...behind], sinceMs, dueMs, clock }) => ({
    ...{ id: first!.id, type: first!.type, since: new Date(sinceMs).toISOString(), attempts: clock.failures ?? 0 },
    ...{ lastStatus: clock.lastStatus, nextAttemptAt: dueMs === null ? undefined : new Date(dueMs).toISOString() },
    waiting: behind.length,
  }));
  const toRow = (index: number) => {
    const { id, attempts, lastStatus, waiting } = shown[index]!;
    const answered = String(lastStatus ?? '');
    return {
      event: id,
      since: showTime(found[index]!.sinceMs),
      attempts: String(attempts),
      answered,
      waiting: String(waiting),
    };
  };
  output.list(shown, toRow, 'Nothing is put aside.');
}

async function replay(
  { store, workspace, output, record }: CliContext,
  id: string,
  { ids, options: { after, before } }: { ids: string[]; options: ReplayOptions },
): Promise<void> {
  const nowMs = systemClock.nowMs();
  if (ids.length > 0 === (after !== undefined)) throw new Error('give either ids, or --after');
  const wanted = after === undefined ? { ids } : { afterMs: after, beforeMs: Math.min(before ?? nowMs, nowMs) };
  const outcome = await replayWebhook(store, { workspace, id }, wanted, nowMs);
  if (outcome === 'gone') throw new Error(`there is no webhook ${id}`);
  if (outcome === 'full') throw new Error('a hundred replays of this webhook are not done yet');
  await record('webhook.replayed', id);
  output.show({ webhookId: id, unknown: outcome.unknown });
}

function readTime(text: string): number {
  const ms = Date.parse(text);
  if (!(ms > 0)) throw new InvalidArgumentError('Expected a time, as 2026-11-21T19:00:00Z.');
  return ms;
}
