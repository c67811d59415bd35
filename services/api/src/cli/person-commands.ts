import type { DeviceAddress } from '@gateway/contracts/ids';
import { canonicalPhoneNumber, maskPhoneNumber, normalizePhoneNumber } from '@gateway/contracts/phone-number';
import { forgetRecipient } from '@gateway/store/change-send';
import { readDeviceState } from '@gateway/store/device-state';
import { listDevices, readDevice } from '@gateway/store/devices';
import { ringDoorbell } from '@gateway/store/doorbells';
import { forgetPerson } from '@gateway/store/people';
import { findSends } from '@gateway/store/read-send';
import { type Command, InvalidArgumentError } from 'commander';
import { askDevice } from './ask-device.js';
import { type CliContext, runner } from './cli-context.js';

/** Something that was found and removed, or is still there. */
interface Finding {
  device: string;
  what: string;
  removed: number;
}

/** `person forget`. */
export function addPersonCommands(program: Command): void {
  const run = runner(program);
  const person = program.command('person').description('people whom the gateway has written to, or heard of');
  person
    .command('forget')
    .description(
      'remove a number everywhere but from the opt-outs, and say where it was; what is queued for it is cancelled',
    )
    .argument('<phone>', 'country code first', readPhone)
    .action((phone: string) => run((context) => forget(context, phone)));
}

async function forget(context: CliContext, phone: string): Promise<void> {
  const { store, workspace, output } = context;
  if (store.vault.keyIds('credentials').length === 0) throw new Error('CREDENTIAL_KEYS is required');
  const findings: Finding[] = [];
  for (const device of await listDevices(store, workspace)) {
    const address = { workspace, device };
    // First, so that nobody is written to whom the account has forgotten.
    const inSends = await forgetInSends(context, address, phone);
    const { account } = (await readDevice(store, address)) ?? {};
    const isOwn = account !== undefined && canonicalPhoneNumber(account) === canonicalPhoneNumber(phone);
    const ofAccount = isOwn ? {} : await forgetAtDevice(context, address, phone);
    for (const [what, removed] of Object.entries({ ...inSends, ...ofAccount }))
      findings.push({ device, what, removed });
    if (isOwn) output.note(`${device} is linked to that number: what its account keeps about itself stays.`);
  }
  output.list(
    findings,
    (index) => {
      const { device, what, removed } = findings[index]!;
      return { device, what, removed: String(removed) };
    },
    `Nothing is kept about ${maskPhoneNumber(phone)}.`,
  );
}

async function forgetInSends(
  { store }: CliContext,
  address: DeviceAddress,
  phone: string,
): Promise<Record<string, number>> {
  const removed = { sends: 0, recipients: 0 };
  let beingAccepted = 0;
  for await (const tag of findSends(store, address)) {
    const entries = await forgetRecipient(store, address, tag, phone);
    if (entries === undefined) beingAccepted++;
    if (!entries) continue;
    removed.sends++;
    removed.recipients += entries;
  }
  if (removed.sends > 0) await ringDoorbell(store, { topic: 'sends', ...address });
  if (beingAccepted > 0) throw new Error('a send to that number is being accepted at this moment: repeat in a minute');
  return removed.sends > 0 ? removed : {};
}

/** The owner first, who has it in memory too; then what it may have written meanwhile, or all of it where there is none. */
async function forgetAtDevice(
  context: CliContext,
  address: DeviceAddress,
  phone: string,
): Promise<Record<string, number>> {
  const { store, output } = context;
  const removed: Record<string, number> = {};
  const add = (found: Record<string, number>) => {
    for (const [what, count] of Object.entries(found)) removed[what] = (removed[what] ?? 0) + count;
  };
  if ((await readDeviceState(store, address)).leaseHeld) {
    const { answer, why } = await askDevice<Record<string, number> | null>(context, address, {
      kind: 'forget',
      number: phone,
    });
    if (answer) add(answer);
    else
      output.note(
        `The process that holds ${address.device} was not reached (${why ?? 'it did not do it'}): repeat when it was restarted.`,
      );
  }
  const { unreadable = 0, ...rest } = await forgetPerson(store, address, phone);
  add(rest);
  delete removed.unreadable;
  if (unreadable > 0)
    output.note(`${unreadable} values of ${address.device} cannot be opened here, and may be theirs.`);
  return removed;
}

function readPhone(given: string): string {
  const phone = normalizePhoneNumber(given);
  if (phone === undefined) throw new InvalidArgumentError('It takes a phone number, country code first.');
  return phone;
}
