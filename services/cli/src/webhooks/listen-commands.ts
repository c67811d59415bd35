import { once } from 'node:events';
import type { GatewayEvent } from '@gateway/contracts/events/events';
import { parseReaderCursor, type ReaderPlace, sayReaderCursor } from '@gateway/contracts/events/reader-place';
import { SUBSCRIBABLE_TYPES } from '@gateway/contracts/webhooks/webhook';
import { openEvents } from '@gateway/store/events/open-events';
import { endOfLog } from '@gateway/store/events/read-log';
import { type Command, InvalidArgumentError } from 'commander';
import { type CliContext, proofOf, type RunCommand } from '../cli-context.js';
import { endingSignal } from '../ending-signal.js';
import { followEvents } from './follow-events.js';
import { localEndpoint } from './local-endpoint.js';
import { readTypes } from './read-types.js';

interface FollowOptions {
  types?: string[];
  after?: ReaderPlace;
}

/** `webhooks listen | forward`: for developers, who have no public URL. */
export function addListenCommands(webhooks: Command, run: RunCommand): void {
  const following = (command: Command) =>
    command
      .option('--types <names>', `some of ${SUBSCRIBABLE_TYPES.join()}; default: all but message.<status>`, readTypes)
      .option(
        '--after <cursor>',
        'go on behind it; 0: from the oldest event that is kept; default: from now on',
        readCursor,
      );
  following(webhooks.command('listen'))
    .description('print events as they come, until ^C')
    .action((options: FollowOptions) => run((context) => listen(context, options)));
  following(webhooks.command('forward'))
    .description('post events to a server on this machine as they come, each once, until ^C; signed as webhooks are')
    .argument('<url>', 'http://127.0.0.1:8080/hook; or where webhooks may lead')
    .action((url: string, options: FollowOptions) => run((context) => forward(context, url, options)));
}

async function listen(context: CliContext, options: FollowOptions): Promise<void> {
  const { output } = context;
  await follow(context, options, async (event, cursor) => {
    output.line({ cursor, event }, `${say(event)}  ${JSON.stringify(event.data)}`);
  });
}

async function forward(context: CliContext, url: string, options: FollowOptions): Promise<void> {
  const { output } = context;
  const endpoint = localEndpoint(context, url);
  output.show({ secret: endpoint.secret, url });
  await follow(context, options, async (event, cursor, signal) => {
    const { status, error, tookMs } = await endpoint.post(event, signal);
    const answered = status ?? error;
    output.line(
      { cursor, id: event.id, type: event.type, answered, tookMs },
      `${say(event)}  ${answered}  ${tookMs} ms`,
    );
  });
}

const say = ({ id, type, timestamp }: GatewayEvent) => `${timestamp}  ${type}  ${id}`;

/** Each in turn, until the process is told to end; says then where to go on. */
async function follow(
  { store, patientStore, workspace, output }: CliContext,
  { types, after }: FollowOptions,
  tell: (event: GatewayEvent, cursor: string, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const ending = endingSignal();
  await openEvents(store, workspace, await proofOf({ store, workspace }));
  let place = after ?? (await endOfLog(store, workspace));
  const work = async () => {
    const events = followEvents({ store: patientStore, workspace, after: place, ...(types && { types }) });
    for await (const each of events) {
      if ('oldest' in each) {
        output.line({ gap: true, oldest: sayReaderCursor(each.oldest) }, 'Some events are not kept any more.');
      } else {
        await tell(each.event, sayReaderCursor(each.place), ending);
        if (ending.aborted) return;
      }
      place = 'oldest' in each ? each.oldest : each.place;
    }
  };
  await Promise.race([work(), once(ending, 'abort')]);
  output.note(`\nTo go on from here: --after ${sayReaderCursor(place)}`);
}

function readCursor(text: string): ReaderPlace {
  const place = parseReaderCursor(text);
  if (!place) throw new InvalidArgumentError('Expected a cursor, or 0.');
  return place;
}
