import type { DeviceAddress } from '@gateway/contracts/ids';
import { normalizePhoneNumber } from '@gateway/contracts/people/normalize-phone-number';
import { canonicalPhoneNumber, maskPhoneNumber, spellingsOf } from '@gateway/contracts/people/phone-number';
import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { toError } from '@gateway/runtime/errors';
import { confirmKeys, connectToAll } from '@gateway/store/core/confirming/confirm-everywhere';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { listDevicesWithRemoved, readDevice } from '@gateway/store/devices/devices';
import { forgetInLog } from '@gateway/store/events/forgetting/forget-in-log';
import { forgetRecipient } from '@gateway/store/sends/change-send';
import { findSends } from '@gateway/store/sends/read-send';
import { forgetInAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { forgetStarts } from '@gateway/store/workspace/opt-outs';
import { forgetPerson, namesOfPerson } from '@gateway/store/workspace/people';
import { type Command, InvalidArgumentError } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';
import { askDevice } from '../devices/ask-device.js';

/** Something that was found and removed, or is still there. */
interface Finding {
  /** `-`: of the workspace. */
  device: string;
  what: string;
  removed: number;
}

interface Report {
  findings: Finding[];
  /** What was not done, a line each, with the device in front. */
  left: string[];
}

/** `person forget`. */
export function addPersonCommands(program: Command, run: RunCommand): void {
  const person = program.command('person').description('what the gateway stores about people');
  person
    .command('forget')
    .description(
      'delete a number everywhere except in the opt-outs, and show where it was; its queued messages are cancelled',
    )
    .argument('<phone>', 'country code first', readPhone)
    .action((phone: string) => run((context) => forget(context, phone)));
}

/** Goes through all devices, even if one fails. Prints what was removed, then throws if something may be left. */
async function forget(context: CliContext, phone: string): Promise<void> {
  const { store, workspace, output } = context;
  if (store.vault.keyIds('credentials').length === 0) throw new Error('CREDENTIAL_KEYS is required');
  const report: Report = { findings: [], left: [] };
  const since = await connectToAll(store);
  const names = new Set(spellingsOf(phone));
  const devices = await listDevicesWithRemoved(store, workspace);
  for (const device of devices) {
    // Before the device forgets them.
    for (const name of await namesOfPerson(store, { workspace, device }, phone)) names.add(name);
    await forgetEverywhere(context, { workspace, device }, { phone, report }).catch((thrown: unknown) => {
      report.left.push(`${device}: ${toError(thrown).message}`);
    });
  }
  const inWorkspace = {
    events: await forgetInLog(store, workspace, names),
    'webhook-attempts': await forgetInAttempts(store, workspace, names),
    'opt-ins': await forgetStarts(store, workspace, names),
  };
  for (const [what, removed] of Object.entries(inWorkspace))
    if (removed > 0) report.findings.push({ device: '-', what, removed });
  // Where something of this workspace lies, and nowhere else: a master that is away elsewhere stops nothing.
  const written = devices.map((device) => deviceKeys(store.space, { workspace, device }).device);
  await confirmKeys(store, [workspaceKeys(store.space, workspace).devices, ...written], since);
  // Not who: the log would remember what all else forgets.
  await context.record('person.forgotten');
  const { findings, left } = report;
  output.list(
    findings,
    (index) => {
      const { device, what, removed } = findings[index]!;
      return { device, what, removed: String(removed) };
    },
    left.length > 0 ? 'Nothing was removed.' : `Nothing is stored about ${maskPhoneNumber(phone)}.`,
  );
  if (left.length > 0) throw new Error(`not finished, run it again:\n${left.join('\n')}`);
}

async function forgetEverywhere(
  context: CliContext,
  address: DeviceAddress,
  { phone, report }: { phone: string; report: Report },
): Promise<void> {
  const { store } = context;
  const { device } = address;
  const note = (found: Record<string, number>) => {
    for (const [what, removed] of Object.entries(found)) report.findings.push({ device, what, removed });
  };
  // First, so that no message goes to a person whom the account has forgotten.
  note(await forgetInSends(context, address, phone));
  const { account } = (await readDevice(store, address)) ?? {};
  if (account !== undefined && canonicalPhoneNumber(account) === canonicalPhoneNumber(phone)) {
    context.output.note(`${device} is linked to that number: what its account stores about itself stays.`);
    return note({ account: 0 });
  }
  note(await forgetAtDevice(context, address, { phone, report }));
}

async function forgetInSends(
  { store }: CliContext,
  address: DeviceAddress,
  phone: string,
): Promise<Record<string, number>> {
  const removed = { sends: 0, recipients: 0 };
  for await (const tag of findSends(store, address)) {
    const entries = await forgetRecipient(store, address, tag, phone);
    if (entries === 0) continue;
    removed.sends++;
    removed.recipients += entries;
  }
  if (removed.sends > 0) await ringDoorbell(store, { topic: 'sends', ...address });
  return removed.sends > 0 ? removed : {};
}

/** The owner first, who has it in memory too; then what it may have written meanwhile, or all of it where there is none. */
async function forgetAtDevice(
  context: CliContext,
  address: DeviceAddress,
  { phone, report }: { phone: string; report: Report },
): Promise<Record<string, number>> {
  const { store } = context;
  const removed: Record<string, number> = {};
  const add = (found: Record<string, number>) => {
    for (const [what, count] of Object.entries(found)) removed[what] = (removed[what] ?? 0) + count;
  };
  if ((await readDeviceState(store, address)).isOwned) {
    const { answer, why } = await askDevice<Record<string, number> | null>(context, address, {
      kind: 'forget',
      number: phone,
    });
    if (answer) add(answer);
    else {
      const reason = why ?? 'it failed';
      report.left.push(`${address.device}: the process that owns it was not reached (${reason}); restart it first`);
    }
  }
  const { unreadable = 0, ...rest } = await forgetPerson(store, address, phone);
  add(rest);
  delete removed.unreadable;
  if (unreadable > 0) {
    report.left.push(
      `${address.device}: ${unreadable} values cannot be decrypted with the keys given here, and may be about this person`,
    );
  }
  return removed;
}

function readPhone(given: string): string {
  const phone = normalizePhoneNumber(given);
  if (phone === undefined) throw new InvalidArgumentError('Expected a phone number, country code first.');
  return phone;
}
