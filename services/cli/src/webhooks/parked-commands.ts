import { parseTime } from '@gateway/contracts/parse-time';
import { systemClock } from '@gateway/runtime/clock';
import {
  listParked,
  type ParkedPlace,
  parseParkedPlace,
  sayParkedPlace,
} from '@gateway/store/webhooks/delivering/parked/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { describeParked } from '@gateway/store/webhooks/describe-webhook';
import { findWebhook } from '@gateway/store/webhooks/webhooks';
import { type Command, InvalidArgumentError } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';
import { showTime } from '../output.js';
import { readCount } from '../read-count.js';
import { foundWebhook, noSuchWebhook } from './found-webhook.js';

const PARKED_SHOWN = 100;

interface Page {
  after?: ParkedPlace;
  limit: number;
}

interface ReplayOptions {
  after?: number;
  before?: number;
}

/** `webhooks parked | replay`. */
export function addParkedCommands(webhooks: Command, run: RunCommand): void {
  webhooks
    .command('parked')
    .description(`show what an endpoint refuses while it takes other requests, the first ${PARKED_SHOWN} (see --limit)`)
    .argument('<id>', 'the id in the list')
    .option('--limit <count>', 'how many', readCount, PARKED_SHOWN)
    .option('--after <cursor>', 'go on behind it; with --json each one has its `cursor`', readPlace)
    .action((id: string, page: Page) => run((context) => parked(context, id, page)));
  webhooks
    .command('replay')
    .description(
      'tell events once more: some of `parked` or `deliveries`, or all of a time; what happens now is not delayed',
    )
    .argument('<id>', 'the id in the list')
    .argument('[ids...]', 'of events in `parked`, of requests in `deliveries`, or of any event or change that is kept')
    .option('--after <time>', 'all from then on, as 2026-11-21T19:00:00Z', readTime)
    .option('--before <time>', 'until then; default: now', readTime)
    .action((id: string, ids: string[], options: ReplayOptions) =>
      run((context) => replay(context, id, { ids, options })),
    );
}

async function parked({ store, workspace, output }: CliContext, id: string, { after, limit }: Page): Promise<void> {
  foundWebhook(id, await findWebhook(store, workspace, id));
  const more = await listParked(store, { workspace, id }, { after, limit: limit + 1, ofEach: 1 });
  const found = more.slice(0, limit);
  const described = await describeParked(store, workspace, found);
  const shown = described.map((each, index) => ({ cursor: sayParkedPlace(found[index]!), ...each }));
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
  output.list(shown, toRow, after ? 'Nothing else is put aside.' : 'Nothing is put aside.');
  if (more.length > limit) output.note(`\n... and more: --after ${shown.at(-1)!.cursor}`);
}

async function replay(
  { store, workspace, output, record }: CliContext,
  id: string,
  { ids, options: { after, before } }: { ids: string[]; options: ReplayOptions },
): Promise<void> {
  const nowMs = systemClock.nowMs();
  if (ids.length > 0 === (after !== undefined)) throw new Error('give either ids, or --after');
  if (before !== undefined && after === undefined) throw new Error('--before goes with --after');
  const wanted = after === undefined ? { ids } : { afterMs: after, beforeMs: Math.min(before ?? nowMs, nowMs) };
  const outcome = await replayWebhook(store, { workspace, id }, wanted, nowMs);
  if (outcome === 'gone') throw noSuchWebhook(id);
  if (outcome === 'empty') throw new Error('--after must be earlier than --before, and than now');
  if (outcome === 'full') throw new Error('a hundred replays of this webhook are not done yet');
  await record('webhook.replayed', id);
  output.show({ webhookId: id, unknown: outcome.unknown });
}

function readPlace(text: string): ParkedPlace {
  const place = parseParkedPlace(text);
  if (!place) throw new InvalidArgumentError('Expected a cursor of this list.');
  return place;
}

function readTime(text: string): number {
  const ms = parseTime(text);
  if (ms === undefined) throw new InvalidArgumentError('Expected a time with its zone, as 2026-11-21T19:00:00Z.');
  return ms;
}
