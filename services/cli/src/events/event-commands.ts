import { sayCursor } from '@gateway/contracts/events/cursor';
import { findEvent } from '@gateway/store/events/reading/find-event';
import type { Command } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';

/** `events show`; `webhooks listen` prints them as they come. */
export function addEventCommands(program: Command, run: RunCommand): void {
  const events = program.command('events').description('events: what became of messages, and what people write');
  events
    .command('show')
    .description('show one event or change as JSON, with numbers and texts, as it was told')
    .argument('<id>', 'of the event, or of a change in messages.updated')
    .action((id: string) => run((context) => show(context, id)));
}

async function show({ store, workspace, output }: CliContext, id: string): Promise<void> {
  const found = await findEvent(store, workspace, id);
  if (!found)
    throw new Error(`there is no event ${id} in this workspace; several changes together are shown by their own ids`);
  if ('oldest' in found)
    throw new Error(
      `event ${id} is not kept any more, if there was one; the oldest cursor is ${sayCursor(found.oldest)}`,
    );
  output.line({ ...found }, JSON.stringify(found));
}
