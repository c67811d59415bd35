import { deriveStatus, UNAVAILABLE } from '@gateway/contracts/devices/device-state';
import type { DeviceId } from '@gateway/contracts/ids';
import { sleep, systemClock } from '@gateway/runtime/clock';
import { unlessRedisIsAway } from '@gateway/runtime/redis/is-redis-away';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { listDevices } from '@gateway/store/devices/devices';
import { hasSender } from '@gateway/store/fleet/members';
import { type DeviceLoad, readLoad } from '@gateway/store/survey/read-load';
import type { Command } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';

interface DeviceLine extends DeviceLoad {
  device: DeviceId;
  status: string;
  reason?: string;
  restriction?: string;
}

const CLEAR = '\u001b[2J\u001b[H';

/** `top`: what metrics never say, as a device is no label: which of them is behind, and why. */
export function addTopCommand(program: Command, run: RunCommand): void {
  program
    .command('top')
    .description('show which devices have the most to send, and what holds them up')
    .option('--watch [seconds]', 'show it again and again, every 2 seconds unless told', readSeconds)
    .action(({ watch }: { watch?: number | true }) => run((context) => showTop(context, watch === true ? 2 : watch)));
}

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds >= 1)) throw new Error('--watch takes a number of seconds, 1 or more');
  return seconds;
}

async function showTop(context: CliContext, everySeconds: number | undefined): Promise<void> {
  for (;;) {
    const lines = await readLines(context);
    if (everySeconds !== undefined) context.output.note(CLEAR.trimEnd());
    context.output.list(lines, (i) => toRow(lines[i]!), 'There are no devices.');
    if (everySeconds === undefined) return;
    await sleep(everySeconds * 1000);
  }
}

/** The most overdue first, then those with the most to send. */
async function readLines({ store, workspace }: CliContext): Promise<DeviceLine[]> {
  const nowMs = systemClock.nowMs();
  const [devices, anySender] = await Promise.all([listDevices(store, workspace), hasSender(store)]);
  const lines = await Promise.all(
    devices.map(async (device): Promise<DeviceLine> => {
      const address = { workspace, device };
      const found = Promise.all([readLoad(store, address, nowMs), readDeviceState(store, address)]);
      const [load, state] = (await found.catch(unlessRedisIsAway)) ?? [];
      if (!load || !state) return { device, ...UNAVAILABLE, messages: 0, openSends: 0 };
      const { status, reason } = deriveStatus(state.desired, state.observed, state.isOwned, { hasSender: anySender });
      return {
        ...{ device, status, ...load },
        ...(reason && { reason }),
        ...(state.restriction && { restriction: state.restriction.kind }),
      };
    }),
  );
  const lateness = ({ overdueSinceMs }: DeviceLine) => overdueSinceMs ?? Number.POSITIVE_INFINITY;
  const compare = (a: number, b: number) => (a === b ? 0 : a - b);
  return lines.sort((a, b) => compare(lateness(a), lateness(b)) || b.messages - a.messages);
}

function toRow({ device, status, reason, messages, openSends, overdueSinceMs, restriction }: DeviceLine) {
  const lateSeconds = overdueSinceMs === undefined ? 0 : Math.round((systemClock.nowMs() - overdueSinceMs) / 1000);
  return {
    ...{ device, status, reason: reason ?? '-', messages: String(messages), sends: String(openSends) },
    ...{ late: lateSeconds > 0 ? `${lateSeconds} s` : '-', restriction: restriction ?? '-' },
  };
}
