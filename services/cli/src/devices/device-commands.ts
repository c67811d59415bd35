import { deriveStatus, REASONS, UNAVAILABLE } from '@gateway/contracts/devices/device-state';
import { DISPLAY_NAME } from '@gateway/contracts/devices/display-name';
import { MAX_TRACE_SECONDS } from '@gateway/contracts/devices/owner-questions';
import { CAREFUL_PACE, type Pace } from '@gateway/contracts/devices/pace';
import { RESTRICTIONS } from '@gateway/contracts/devices/restriction';
import { isDeviceId } from '@gateway/contracts/ids';
import { unlessRedisIsAway } from '@gateway/runtime/redis/is-redis-away';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { readDefaultDevice, setDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { listDevices, readDevice, renameDevice, setPace } from '@gateway/store/devices/devices';
import { readRestriction } from '@gateway/store/devices/incidents/restrictions';
import { removeDevice } from '@gateway/store/devices/removing/remove-device';
import { hasSender } from '@gateway/store/fleet/members';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { type Command, InvalidArgumentError } from 'commander';
import { type CliContext, proofOf, type RunCommand } from '../cli-context.js';
import { showTime } from '../output.js';
import { type DoctorOptions, examineDevice } from './device-doctor.js';
import { exportDevice } from './export-device.js';
import { importDevice } from './import-device.js';

interface PaceOptions {
  burst?: number;
  jitter?: number;
}

/** `device list | show | default | rename | pace | remove | doctor | import | export`. */
export function addDeviceCommands(program: Command, run: RunCommand): void {
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
  device
    .command('default')
    .description('show or set the device of tokens that belong to none')
    .argument('[id]', 'the device to choose', readDeviceId)
    .action((id: string | undefined) => run((context) => chooseDefault(context, id)));
  device
    .command('rename')
    .description('change what people call a device; programs go on using its id')
    .argument('<id>', 'its id, as in the list')
    .argument('<name>', '1 to 60 characters', readDisplayName)
    .action((id: string, name: string) => run((context) => rename(context, id, name)));
  device
    .command('remove')
    .description('remove a device without an account from the list; linking under its id makes it anew')
    .argument('<id>', 'its id, as in the list')
    .action((id: string) => run((context) => remove(context, id)));
  device
    .command('pace')
    .description('show or set how fast a device sends; takes effect at once and is kept')
    .argument('<id>', 'its id, as in the list')
    .argument('[perMinute]', 'messages a minute, or "default" for that of the senders; 0 is unlimited', readRate)
    .option('--burst <count>', 'messages that may go out at once after a pause', readBurst)
    .option('--jitter <share>', 'share of the gap between messages that varies at random, 0 to 1', readJitter)
    .action((id: string, rate: number | 'default' | undefined, options: PaceOptions) =>
      run((context) => changePace(context, id, { rate, options })),
    );
  device
    .command('doctor')
    .description('show what is known about an account and how the network answers it; sends no message')
    .option('--device <id>', 'default: the default device', readDeviceId)
    .option('--trace [seconds]', 'show the traffic of its connection instead, redacted', readTraceSeconds)
    .action((options: DoctorOptions) => run((context) => examineDevice(context, options)));
  addTransferCommands(device, run);
}

function addTransferCommands(device: Command, run: RunCommand): void {
  device
    .command('import')
    .description('import a Baileys session from its multi-file auth folder, without linking again')
    .argument('<folder>', 'with creds.json, session-*.json, ...; nothing in it is changed')
    .option('--device <id>', 'default: the default device', readDeviceId)
    .option('--force', 'log out the account that is linked to the device now')
    .action((folder: string, options: { device?: string; force?: true }) =>
      run((context) => importDevice(context, folder, options)),
    );
  device
    .command('export')
    .description('export the session of a device as a Baileys multi-file auth folder')
    .argument('<folder>', 'made if need be; must be empty')
    .option('--device <id>', 'default: the default device', readDeviceId)
    .option('--force', 'export it even while a process uses it')
    .action((folder: string, options: { device?: string; force?: true }) =>
      run((context) => exportDevice(context, folder, options)),
    );
}

async function list(context: CliContext): Promise<void> {
  const ids = await listDevices(context.store, context.workspace);
  const [preferred, ...devices] = await Promise.all([
    readDefaultDevice(context.store, context.workspace),
    ...ids.map((id) => describeListed(context, id)),
  ]);
  context.output.list(
    devices,
    (index) => {
      const { id, status, reason, restriction, phone, queued } = devices[index]!;
      return {
        device: id === preferred ? `${id} *` : id,
        status,
        phone: phone ?? '-',
        queued: String(queued ?? '-'),
        why: reason ?? restriction ?? '',
      };
    },
    'There are no devices yet: the first call of /connect makes one.',
  );
  if (ids.includes(preferred)) context.output.note('\n* the device of tokens that are not linked to one');
}

async function show(context: CliContext, id: string): Promise<void> {
  const found = await describe(context, id);
  if (found.createdAtMs === undefined) throw noDevice(id);
  const { createdAtMs, sinceMs, restrictedUntilMs, ...fields } = found;
  context.output.show({
    ...fields,
    ...(restrictedUntilMs !== undefined && { restrictedUntil: showTime(restrictedUntilMs) }),
    since: showTime(sinceMs),
    created: showTime(createdAtMs),
  });
}

/** One whose node of a Redis Cluster is away has a line as well. */
async function describeListed(context: CliContext, id: string) {
  const { status, reason } = UNAVAILABLE;
  const unknown = { phone: undefined, restriction: undefined, queued: undefined };
  const found = await describe(context, id).catch(unlessRedisIsAway);
  return found ?? { id, status, reason: REASONS[reason], ...unknown };
}

async function describe({ store, workspace }: CliContext, id: string) {
  const address = { workspace, device: id };
  const [device, { desired, observed, isOwned, waitingMessages }, restriction, sends, senders] = await Promise.all([
    readDevice(store, address),
    readDeviceState(store, address),
    readRestriction(store, address),
    listOpenSends(store, address),
    hasSender(store),
  ]);
  const status = deriveStatus(desired, observed, isOwned, { hasSender: senders });
  return {
    id,
    status: status.status,
    ...(status.status === 'connected' ? { phone: status.phone, name: status.name } : { phone: device?.account }),
    reason: status.reason && REASONS[status.reason],
    restriction: restriction && RESTRICTIONS[restriction.kind],
    restrictedUntilMs: restriction?.untilMs,
    pace: device?.pace && showPace(device.pace),
    openSends: sends.length,
    queued: waitingMessages,
    sinceMs: observed?.sinceMs,
    createdAtMs: device?.createdAtMs,
  };
}

async function chooseDefault(context: CliContext, id: string | undefined): Promise<void> {
  const { store, workspace, output, record } = context;
  if (id !== undefined) {
    await setDefaultDevice(store, { workspace, device: id }, await proofOf(context));
    await record('device.made_default', id);
  }
  output.show({ default: await readDefaultDevice(store, workspace) });
}

async function rename(context: CliContext, id: string, name: string): Promise<void> {
  const { store, workspace } = context;
  const { createdAtMs } = await findDevice(context, id);
  if (!(await renameDevice(store, { workspace, device: id, createdAtMs }, name))) throw noDevice(id);
  await context.record('device.renamed', id);
  context.output.show({ device: id, name });
}

async function remove(context: CliContext, id: string): Promise<void> {
  await findDevice(context, id);
  const outcome = await removeDevice(context.store, { workspace: context.workspace, device: id });
  if (outcome === 'linked') throw new Error(`an account is linked to ${id}, or being linked: disconnect it first`);
  if (outcome === 'sending') throw new Error(`messages still wait on ${id}: cancel them, or wait until they expire`);
  await context.record('device.removed', id);
  context.output.show({ device: id, removed: true });
}

async function findDevice({ store, workspace }: CliContext, id: string) {
  const device = await readDevice(store, { workspace, device: id });
  if (!device) throw noDevice(id);
  return device;
}

function noDevice(id: string): Error {
  return new Error(`there is no device ${id}`);
}

async function changePace(
  context: CliContext,
  id: string,
  { rate, options }: { rate: number | 'default' | undefined; options: PaceOptions },
): Promise<void> {
  const { store, workspace, output, realNetwork, record } = context;
  const address = { workspace, device: id };
  const device = await findDevice(context, id);
  if (rate === 0 && realNetwork)
    throw new Error('a pace of 0 is refused on the real network: accounts that send unpaced get banned');
  const isChange = rate !== undefined || options.burst !== undefined || options.jitter !== undefined;
  if (rate === undefined && isChange && !device.pace)
    throw new Error(`device ${id} has no pace of its own: give a rate too`);
  const pace =
    rate === 'default'
      ? undefined
      : { ...CAREFUL_PACE, ...device.pace, ...(rate !== undefined && { messagesPerMinute: rate }), ...options };
  if (isChange) {
    if (!(await setPace(store, { ...address, createdAtMs: device.createdAtMs }, pace))) throw noDevice(id);
    await ringDoorbell(store, { topic: 'sends', ...address });
    await record('device.pace_set', `${id}: ${pace?.messagesPerMinute ?? 'default'}`);
  }
  const now = isChange ? pace : device.pace;
  output.show({ device: id, pace: now ? showPace(now) : 'that of the senders (PACE_PER_MINUTE)' });
}

function showPace({ messagesPerMinute, burst, jitter }: Pace): string {
  if (messagesPerMinute === 0) return 'unlimited';
  return `${messagesPerMinute} a minute, ${burst} at once, gaps vary by ${Math.round(jitter * 100)} %`;
}

function readDeviceId(text: string): string {
  if (!isDeviceId(text)) throw new InvalidArgumentError('Expected 1 to 40 of a-z, 0-9 and -.');
  return text;
}

function readDisplayName(text: string): string {
  const name = text.trim();
  if (!DISPLAY_NAME.test(name)) throw new InvalidArgumentError('Expected 1 to 60 characters.');
  return name;
}

function readTraceSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds >= 1 && seconds <= MAX_TRACE_SECONDS)) {
    throw new InvalidArgumentError(`Expected 1 to ${MAX_TRACE_SECONDS} seconds.`);
  }
  return seconds;
}

function readRate(text: string): number | 'default' {
  if (text === 'default') return text;
  if (!/^\d{1,6}$/.test(text) || Number(text) > 100_000) {
    throw new InvalidArgumentError('Expected 0 to 100000 messages a minute, or "default".');
  }
  return Number(text);
}

function readBurst(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('Expected 1 to 9999.');
  return Number(text);
}

function readJitter(text: string): number {
  const share = Number(text);
  if (text.trim() === '' || !(share >= 0 && share <= 1)) throw new InvalidArgumentError('Expected 0 to 1.');
  return share;
}
