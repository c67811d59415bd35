import {
  consoleKeys,
  deletedWorkspacesKey,
  deviceKeys,
  schemaKey,
  workspaceKeys,
  workspacesKey,
} from '@gateway/contracts/redis-keys';
import { toError } from '@gateway/runtime/errors';
import { masterNodes, masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { confirmEverywhere, connectToAll } from '@gateway/store/core/confirming/confirm-everywhere';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { findWorkspace } from '@gateway/store/workspace/delete-workspace';
import { addOptOuts, findOptOut } from '@gateway/store/workspace/opt-outs';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { runCli } from './support/run-cli.js';

const WITHIN = { everyMs: 200 };
const PHONE = '447700900001';

describe('the command line while a master of a Redis Cluster is away', () => {
  let cluster: RedisCluster;
  let space: RedisSpace;
  let victim: RedisProcess;
  before(async () => {
    cluster = await startRedisCluster();
  });
  after(() => cluster.stop());
  beforeEach(async () => {
    await open(() => true);
    // All commands write into the audit log, which is at one place.
    const { port } = masterOfKey(space.store.redis, consoleKeys(space.store.space).audit).options;
    victim = cluster.shards.find(({ master }) => master.port !== port)!.master;
  });
  afterEach(async () => {
    victim.restart();
    await eventually(() => cluster.agree(), WITHIN);
    await space.close();
  });

  const isOnVictim = (key: string) => masterOfKey(space.store.redis, key).options.port === victim.port;

  /** One whose keys lie as wanted. */
  async function open(isSo: () => boolean): Promise<void> {
    for (;;) {
      space = await openRedisSpace({ url: cluster.url });
      if (isSo()) return;
      await space.close();
    }
  }

  const addressOf = (workspace: string) => ({ workspace, device: 'default' });

  /** Of a workspace whose own keys, and those of its device, lie as wanted. */
  function nameWhere(isSo: (own: string, ofDevice: string) => boolean): string {
    const names = Array.from({ length: 100 }, (_, i) => `shop-${i}`);
    const { space: keys } = space.store;
    return names.find((name) => isSo(workspaceKeys(keys, name).devices, deviceKeys(keys, addressOf(name)).device))!;
  }

  it('does not delete a workspace whose keys are there: its name is free once all of it was found', async () => {
    await space.close();
    await open(() => ![workspacesKey, deletedWorkspacesKey].some((keyOf) => isOnVictim(keyOf(space.store.space))));
    const { store } = space;
    const shop = nameWhere((own, ofDevice) => isOnVictim(own) && !isOnVictim(ofDevice));
    const address = addressOf(shop);
    await createWorkspace(store, shop);
    await addOptOuts(store, shop, { numbers: [PHONE], source: 'api', atMs: Date.now() });
    await ensureDevice(store, address);
    // An account that no process logs out.
    await store.redis.set(deviceKeys(store.space, address).creds, 'x');
    const remove = () =>
      runCli(space, ['workspace', 'delete', shop, '--wait', '2', '--yes', '--json'], { workspace: 'beside' });
    const running = remove();
    await eventually(async () => (await readDeviceState(store, address)).desired?.want === 'unlinked');
    await victim.kill();
    const { code, stdout, stderr } = await running;
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
    expect(stderr).to.match(/a master of the Redis Cluster is away: run it again when all masters are there\n$/);
    expect(await createWorkspace(store, shop), 'its name is free').to.equal(false);
    victim.restart();
    const again = await eventually(async () => {
      const run = await remove();
      return run.code === 0 && run;
    }, WITHIN);
    expect(JSON.parse(again.stdout)).to.include({ workspace: shop, left: 0 });
    expect(await createWorkspace(store, shop)).to.equal(true);
    expect(await findOptOut(store, shop, PHONE)).to.equal(undefined);
  });

  it('neither finds nothing nor confirms all, when its client has forgotten that master', async () => {
    const { store } = space;
    await connectToAll(store);
    await victim.kill();
    const whenForgotten = async (work: () => Promise<unknown>) => {
      await eventually(() => masterNodes(store.redis).length === 2);
      return work().catch(toError);
    };
    expect(await whenForgotten(() => findWorkspace(store, 'shop'))).to.have.property('code', 'redis_away');
    expect(await whenForgotten(() => confirmEverywhere(store))).to.have.property('code', 'redis_away');
  });

  it('forgets a person of whom nothing is there', async () => {
    await space.close();
    await open(
      () => ![workspacesKey, deletedWorkspacesKey, schemaKey].some((keyOf) => isOnVictim(keyOf(space.store.space))),
    );
    const { store } = space;
    const shop = nameWhere((own, ofDevice) => !isOnVictim(own) && !isOnVictim(ofDevice));
    await createWorkspace(store, shop);
    await ensureDevice(store, addressOf(shop));
    const nowMs = Date.now();
    await acceptSend(store, addressOf(shop), {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: [PHONE] },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 3_600_000 },
    });
    await victim.kill();
    const { code, stdout, stderr } = await runCli(space, ['person', 'forget', PHONE, '--json'], { workspace: shop });
    expect(code, stderr).to.equal(0);
    expect(JSON.parse(stdout)).to.deep.include({ device: 'default', what: 'sends', removed: 1 });
  });
});
