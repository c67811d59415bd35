import type { DeviceAddress } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import { readDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { deviceKeyStore, readAllKeys } from '@gateway/store/devices/keys/device-keys';
import type { Ownership } from '@gateway/store/fleet/ownership';
import type { CliContext } from '../cli-context.js';
import { openAuthFolder } from './auth-folder.js';
import { withDevice } from './take-device.js';

const TAKE_MS = 1_000;

/**
 * `device export`: writes the session as a folder that any Baileys client can start from. The device is not changed.
 * Refused while a process uses it, unless forced: such a copy is out of date from the next message on.
 */
export async function exportDevice(
  context: CliContext,
  folder: string,
  { device, force = false }: { device?: string; force?: boolean },
): Promise<void> {
  const { store, workspace, output, record } = context;
  const address = { workspace, device: device ?? (await readDefaultDevice(store, workspace)) };
  // A device that is not there cannot be taken, as one that is in use.
  if (!(await readDeviceState(store, address)).hasKeys) throw new Error(notLinked(address));
  const copy = (ownership: Ownership) => copySession(store, ownership, folder);
  const taken = await withDevice(context, address, { waitMs: TAKE_MS }, copy);
  if (!taken && !force) {
    throw new Error(
      `device ${address.device} is in use: stop the senders first, or use --force for a copy that will soon be out of date`,
    );
  }
  const { keys } = taken?.result ?? (await copy(readOnly(address)));
  await record('device.exported', address.device);
  output.show({ device: address.device, folder, keys });
  output.note(
    '\nAnyone with these files can write as this account. Two clients with the same keys disconnect each other.',
  );
}

function notLinked({ device }: DeviceAddress): string {
  return `device ${device} is not linked`;
}

/** Reading needs no ownership; writes with this one are refused. */
function readOnly(address: DeviceAddress): Ownership {
  return { address, epoch: 0, token: 'none' };
}

async function copySession(store: Store, ownership: Ownership, folder: string): Promise<{ keys: number }> {
  const keyStore = deviceKeyStore(store, ownership);
  const creds = await keyStore.readCreds();
  if (creds === undefined) throw new Error(notLinked(ownership.address));
  const files = await openAuthFolder(folder);
  let keys = 0;
  for await (const { type, id, value } of readAllKeys(store, ownership.address)) {
    await files.writeKey(type, id, value);
    keys++;
  }
  const contacts = await keyStore.readContactIndex();
  if (contacts.length > 0) await files.writeContacts(contacts);
  await files.writeCreds(creds);
  return { keys };
}
