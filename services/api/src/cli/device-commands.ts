import { deriveStatus, REASONS } from '@gateway/contracts/device-state';
import { readDeviceState } from '@gateway/store/device-state';
import { listDevices, readDevice } from '@gateway/store/devices';
import { listOpenSends, readBacklog } from '@gateway/store/read-send';
import type { Command } from 'commander';
import { type CliContext, withStore } from './cli-context.js';
import { createOutput, showTime } from './output.js';

/** `device list | show`. */
export function addDeviceCommands(program: Command): void {
  const run = (work: (context: CliContext) => Promise<void>) =>
    withStore(createOutput({ json: program.opts().json === true, stream: process.stdout }), work);
  const device = program.command('device').description('devices: the places that accounts are linked to');
  device
    .command('list')
    .description('show all devices')
    .action(() => run(list));
  device
    .command('show')
    .description('show one device in full')
    .argument('<id>', 'its id, as in the list')
    .action((id: string) => run((context) => show(context, id)));
}

async function list(context: CliContext): Promise<void> {
  const ids = await listDevices(context.store, context.workspace);
  const devices = await Promise.all(ids.map((id) => describe(context, id)));
  context.output.list(
    devices,
    (index) => {
      const { id, status, reason, phone, queued } = devices[index]!;
      return { device: id, status, phone: phone ?? '-', queued: String(queued), why: reason ?? '' };
    },
    'There are no devices yet: the first call of /connect makes one.',
  );
}

async function show(context: CliContext, id: string): Promise<void> {
  const found = await describe(context, id);
  if (found.createdAtMs === undefined) throw new Error(`there is no device ${id}`);
  const { createdAtMs, sinceMs, ...fields } = found;
  context.output.show({ ...fields, since: showTime(sinceMs), created: showTime(createdAtMs) });
}

async function describe({ store, workspace }: CliContext, id: string) {
  const address = { workspace, device: id };
  const [device, { desired, observed, leaseHeld }, backlog, sends] = await Promise.all([
    readDevice(store, address),
    readDeviceState(store, address),
    readBacklog(store, address),
    listOpenSends(store, address),
  ]);
  const status = deriveStatus(desired, observed, leaseHeld);
  return {
    id,
    status: status.status,
    ...(status.status === 'connected' ? { phone: status.phone, name: status.name } : { phone: device?.account }),
    reason: status.status === 'connected' ? undefined : REASONS[status.reason],
    pace: device?.pace && `${device.pace.messagesPerMinute} a minute`,
    openSends: sends.length,
    queued: backlog.messages,
    sinceMs: observed?.sinceMs,
    createdAtMs: device?.createdAtMs,
  };
}
