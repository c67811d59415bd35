import { createWriteStream } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { LIMITS } from '@gateway/contracts/limits';
import { fetchMedia } from '@gateway/media/fetch-media';
import { findMedia } from '@gateway/media/find-media';
import { ApiError } from '@gateway/runtime/errors';
import type { Command } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';
import { asking } from '../devices/ask-device.js';
import { endingSignal } from '../ending-signal.js';

/** `media get`. */
export function addMediaCommand(program: Command, run: RunCommand): void {
  const media = program.command('media').description('files that people sent');
  media
    .command('get')
    .description('fetch a file from the network, and check that it is the one that its message speaks of')
    .argument('<id>', 'of the file, as message.received has it')
    .argument('<file>', 'a new one; or - for the standard output, where only one that ends without an error is checked')
    .action((id: string, file: string) => run((context) => get(context, id, file)));
}

async function get(context: CliContext, id: string, file: string): Promise<void> {
  const { store, workspace, mediaSource: source, logger, stdout, output } = context;
  const asked = asking(context);
  const found = await findMedia(store, workspace, { id, nowMs: asked.clock.nowMs() });
  if (!found) throw new Error(`there is no file ${id} in this workspace, or its message is not kept any more`);
  const waits = { ...asked.waits, contactsMs: LIMITS.contactsWaitSeconds * 1000 };
  const signal = endingSignal();
  const body = await fetchMedia({ ...asked, source, asked: new Map(), waits, logger }, found, signal).catch(sayWhy);
  if (file === '-') return pipeline(body, stdout, { end: false, signal });
  await writeNew(file, body, signal);
  const { type, media } = found.content;
  output.show({ file, type, mimeType: media.mimeType, filename: media.filename, bytes: media.bytes });
}

/** Only a whole file gets the name; one that is there stays as it is. Nobody else of this machine may read it. */
async function writeNew(file: string, body: Readable, signal: AbortSignal): Promise<void> {
  const part = `${file}.${process.pid}.part`;
  try {
    await pipeline(body, createWriteStream(part, { flags: 'wx', mode: 0o600 }), { signal });
    await link(part, file);
  } finally {
    await rm(part, { force: true });
  }
}

function sayWhy(thrown: unknown): never {
  if (!(thrown instanceof ApiError)) throw thrown;
  const { why, reason, status } = thrown.fields;
  throw new Error([thrown.publicMessage, why, reason ?? status].filter((part) => part !== undefined).join(': '));
}
