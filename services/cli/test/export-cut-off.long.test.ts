import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisSentinels, startRedisSentinels } from '@gateway/testkit/redis-servers/redis-sentinels';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from '../../api/test/support/device-owner.js';
import { runInPlace } from './support/run-cli.js';

describe('device export on a machine that is cut off with the master of Redis, where replicas are waited for', () => {
  let servers: RedisSentinels;
  let space: RedisSpace;
  let folder: string;
  before(async () => {
    servers = await startRedisSentinels();
    // A Sentinel of this side goes on naming its master.
    space = await openRedisSpace({ url: await servers.addBeside(servers.servers[0]!) });
    folder = await mkdtemp(join(tmpdir(), 'gateway-export-'));
    await createWorkspace(space.store, 'main');
    const owner = await linkDevice(space.store);
    await deviceKeyStore(space.store, owner.ownership).commit({ creds: '{}' });
    await owner.release();
  });
  after(async () => {
    await space.close();
    await servers.stop();
    await rm(folder, { recursive: true });
  });

  const exportTo = (name: string) =>
    runInPlace(space, ['--workspace', 'main', 'device', 'export', join(folder, name)], {
      env: { REDIS_WAIT_REPLICAS: '1' },
    });

  it('writes no keys, which others may have changed elsewhere; it does when the master is known again', async () => {
    const heal = servers.cutOffWithClients(servers.servers[0]!);
    try {
      const refused = await exportTo('refused');
      expect(refused.code, refused.stdout).to.equal(1);
      expect(refused.stderr).to.include('the master of Redis may have been replaced');
      expect(await readdir(folder)).to.deep.equal([]);
    } finally {
      heal();
    }
    await eventually(async () => (await exportTo('exported')).code === 0, { everyMs: 200 });
    expect(await readdir(join(folder, 'exported'))).to.deep.equal(['creds.json']);
  });
});
