import { type DeviceAddress, parseMessageId } from '@gateway/contracts/ids';
import { maskPhoneNumber } from '@gateway/contracts/people/phone-number';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { RECIPIENT_STATUSES, sendStatus } from '@gateway/contracts/sends/statuses';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { findDeviceByShortId, listDevices } from '@gateway/store/devices/devices';
import { cancelSend } from '@gateway/store/sends/change-send';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { readRecipients, readSend, type SendRecord } from '@gateway/store/sends/read-send';
import type { Command } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';
import { showTime } from '../output.js';

/** `send list | show | cancel`. */
export function addSendCommands(program: Command, run: RunCommand): void {
  const send = program.command('send').description('sends: messages to one recipient or to a list');
  send
    .command('list')
    .description('show the sends that are not finished, by expiry')
    .option('--device <id>', 'of this device only')
    .action((options: { device?: string }) => run((context) => list(context, options)));
  send
    .command('show')
    .description('show one send and why recipients failed, without its content and with masked numbers')
    .argument('<messageId>', 'as in the answer of /send')
    .action((messageId: string) => run((context) => show(context, messageId)));
  send
    .command('cancel')
    .description('cancel what has not been sent yet')
    .argument('<messageId>', 'as in the answer of /send')
    .action((messageId: string) => run((context) => cancel(context, messageId)));
}

async function list({ store, workspace, output }: CliContext, { device }: { device?: string }): Promise<void> {
  const devices = device === undefined ? await listDevices(store, workspace) : [device];
  const found = await Promise.all(
    devices.map(async (id) => {
      const address = { workspace, device: id };
      const sends = await Promise.all(
        (await listOpenSends(store, address)).map((each) => readSend(store, address, each)),
      );
      return sends.filter((send) => send !== undefined).map((send) => ({ device: id, send }));
    }),
  );
  const sends = found.flat().sort((a, b) => a.send.expiresAtMs - b.send.expiresAtMs);
  output.list(
    sends.map((each) => describe(each.device, each.send)),
    (index) => {
      const { device: id, send } = sends[index]!;
      return {
        message: send.messageId,
        device: id,
        kind: send.kind,
        status: sendStatus(send.counts),
        queued: String(send.counts.queued),
        of: String(send.total),
        created: showTime(send.createdAtMs),
        expires: showTime(send.expiresAtMs),
      };
    },
    'There are no sends with work left.',
  );
}

async function show(context: CliContext, messageId: string): Promise<void> {
  const { address, send } = await find(context, messageId);
  const recipients = await readRecipients(context.store, address, send.tag, { from: 0, limit: send.total });
  const failed = recipients.filter(({ status }) => status === 'failed');
  const { counts, ...fields } = describe(address.device, send);
  context.output.show({ ...fields, ...counts });
  if (failed.length === 0) return;
  const shown = failed
    .slice(0, MAX_FAILED)
    .map(({ to, errorCode }) => `${maskPhoneNumber(to)} ${recipientErrorName(errorCode)}`);
  const more = failed.length > MAX_FAILED ? `\n... and ${failed.length - MAX_FAILED} more` : '';
  context.output.note(`\nfailed:\n${shown.join('\n')}${more}`);
}

const MAX_FAILED = 20;

async function cancel(context: CliContext, messageId: string): Promise<void> {
  const { address } = await find(context, messageId);
  const outcome = await cancelSend(context.store, address, messageId);
  await ringDoorbell(context.store, { topic: 'sends', ...address });
  if (outcome && outcome.cancelled > 0) await context.record('message.cancelled', messageId);
  const { send } = await find(context, messageId);
  context.output.show({
    ...describe(address.device, send),
    cancelledNow: outcome?.cancelled ?? 0,
    counts: undefined,
    ...send.counts,
  });
}

async function find(
  { store, workspace }: CliContext,
  messageId: string,
): Promise<{ address: DeviceAddress; send: SendRecord }> {
  const parsed = parseMessageId(messageId);
  const device = parsed && (await findDeviceByShortId(store, workspace, parsed.shortDeviceId));
  const address = device && { workspace, device };
  const send = address && (await readSend(store, address, messageId));
  if (!address || !send)
    throw new Error(
      `there is no send ${messageId}: it never existed, or was deleted 7 days after its end, or earlier to make room`,
    );
  return { address, send };
}

function describe(device: string, send: SendRecord) {
  const counts = Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, send.counts[status]]));
  return {
    messageId: send.messageId,
    device,
    kind: send.kind,
    status: sendStatus(send.counts),
    recipients: send.total,
    counts,
    createdAt: new Date(send.createdAtMs).toISOString(),
    expiresAt: new Date(send.expiresAtMs).toISOString(),
    requestId: send.requestId,
    owner: send.owner,
  };
}
