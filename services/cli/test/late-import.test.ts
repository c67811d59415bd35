import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CliContext } from '@gateway/cli/cli-context';
import { importDevice } from '@gateway/cli/devices/import-device';
import { createOutput } from '@gateway/cli/output';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { WorkspaceGoneError } from '@gateway/store/core/workspace-gone-error';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { ensureDevice, listDevices } from '@gateway/store/devices/devices';
import { deleteWorkspace } from '@gateway/store/workspace/delete-workspace';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const ADDRESS = { workspace: 'shop', device: 'till' };

describe('an import into a workspace that is deleted, and made anew, while it stands still', () => {
  let space: RedisSpace;
  let folder: string;
  beforeEach(async () => {
    space = await openRedisSpace();
    folder = await mkdtemp(join(tmpdir(), 'gateway-import-'));
    const creds = { me: { id: '491700000031:1@s.whatsapp.net' }, account: {}, noiseKey: {}, signedIdentityKey: {} };
    await writeFile(join(folder, 'creds.json'), JSON.stringify(creds));
    await createWorkspace(space.store, 'shop');
  });
  afterEach(async () => {
    await space.close();
    await rm(folder, { recursive: true });
  });

  /** Before a step goes out for the first time. @param hasDevice the next workspace has one of that name. */
  function importLate(step: string, { hasDevice }: { hasDevice: boolean }): Promise<void> {
    const { store } = space;
    let isLate = false;
    const run: RunScript = async (name, keys, args) => {
      if (name === step && !isLate) {
        isLate = true;
        await deleteWorkspace(store, 'shop', { logoutMs: 0, closingMs: 0 });
        await createWorkspace(store, 'shop');
        if (hasDevice) await ensureDevice(store, ADDRESS);
      }
      return store.run(name, keys, args);
    };
    const context = { store: { ...store, run }, workspace: 'shop', logger: silentLogger, record: async () => {} };
    const output = createOutput({ json: true, stream: process.stderr });
    return importDevice({ ...context, output } as unknown as CliContext, folder, { device: 'till' });
  }

  it('makes no device in the next one', async () => {
    const late = await importLate('list-device', { hasDevice: false }).catch((thrown: unknown) => thrown);
    expect(late).to.be.instanceOf(WorkspaceGoneError);
    expect(await listDevices(space.store, 'shop')).to.deep.equal([]);
  });

  it('gives no account to a device of the next one', async () => {
    const late = await importLate('claim-device', { hasDevice: true }).catch((thrown: unknown) => thrown);
    expect(late).to.be.instanceOf(WorkspaceGoneError);
    const { hasKeys, desired } = await readDeviceState(space.store, ADDRESS);
    expect({ hasKeys, desired }).to.deep.equal({ hasKeys: false, desired: undefined });
  });
});
