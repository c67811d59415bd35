import {
  consoleKeys,
  deviceKeys,
  type KeySpace,
  schemaKey,
  workspaceKeys,
  workspacesKey,
} from '@gateway/contracts/redis-keys';
import { masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { checkSchema } from '@gateway/store/core/store';
import { createApiToken, findApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { openRedisSpace, openSpaceBesideNode, portOf, type RedisSpace } from '@gateway/testkit/redis-space';

import { expect } from 'chai';
import { linkDevice } from '../../api/test/support/device-owner.js';
import { runInPlace } from './support/run-cli.js';

const WITHIN = { everyMs: 200, timeoutMs: 40_000 };
const PLACES: Record<string, { keyOf: (keys: KeySpace) => string; says: string }> = {
  'the version of the data': { keyOf: schemaKey, says: '' },
  'the list of workspaces': { keyOf: workspacesKey, says: '' },
  'the audit log': {
    keyOf: (keys) => consoleKeys(keys).audit,
    says: 'done, but the audit log could not be written: Redis did not answer\n',
  },
};

describe('the devices of a workspace one of which is on a node of a Redis Cluster that is away', () => {
  let cluster: RedisCluster;
  let space: RedisSpace;
  before(async () => {
    cluster = await startRedisCluster();
  });
  after(() => cluster.stop());
  afterEach(() => space.close());

  const portOfDevice = (device: string) =>
    portOf(space, deviceKeys(space.store.space, { workspace: 'main', device }).backlog);
  const ownKeys = (keys: KeySpace) => [
    ...[schemaKey(keys), workspacesKey(keys), consoleKeys(keys).audit, workspaceKeys(keys, 'main').devices],
  ];

  it('are all listed, that one without what is not known of it', async () => {
    const { master, ...opened } = await openSpaceBesideNode(cluster, ownKeys);
    ({ space } = opened);
    const names = Array.from({ length: 100 }, (_, i) => `device-${i}`);
    const away = names.find((name) => portOfDevice(name) === master.port)!;
    const here = names.find((name) => portOfDevice(name) !== master.port)!;
    await createWorkspace(space.store, 'main');
    for (const device of [away, here]) await linkDevice(space.store, { workspace: 'main', device });
    await master.kill();
    try {
      for (const command of [['device', 'list'], ['top']]) {
        const { code, stdout, stderr } = await runInPlace(space, ['--workspace', 'main', '--json', ...command]);
        expect({ code, stderr }, command.join(' ')).to.deep.equal({ code: 0, stderr: '' });
        const lines = JSON.parse(stdout) as { id?: string; device?: string; status: string; reason: string }[];
        const lineOf = (device: string) => lines.find((line) => (line.id ?? line.device) === device);
        expect(lineOf(away)?.reason).to.match(/data_unavailable|cannot be reached/);
        expect(lineOf(here)?.reason).not.to.match(/data_unavailable|cannot be reached/);
      }
    } finally {
      master.restart();
      await eventually(async () => (await cluster.agree()) && masterNodes(space.store.redis).length === 3, WITHIN);
    }
  });
});

describe('a token of a workspace whose own node of a Redis Cluster is there', () => {
  let cluster: RedisCluster;
  let space: RedisSpace;
  before(async () => {
    cluster = await startRedisCluster();
  });
  after(() => cluster.stop());
  afterEach(() => space.close());

  const portOfKey = (key: string) => portOf(space, key);

  for (const [what, { keyOf, says }] of Object.entries(PLACES)) {
    it(`can be revoked without the node of ${what}`, async () => {
      const others = Object.values(PLACES).filter((place) => place.keyOf !== keyOf);
      let lostPort: number | undefined;
      for (;;) {
        space = await openRedisSpace({ url: cluster.url });
        const { space: keys } = space.store;
        lostPort = portOfKey(keyOf(keys));
        if (others.every((other) => portOfKey(other.keyOf(keys)) !== lostPort)) break;
        await space.close();
      }
      const { store } = space;
      const names = Array.from({ length: 100 }, (_, i) => `shop-${i}`);
      const workspace = names.find((name) => portOfKey(workspaceKeys(store.space, name).devices) !== lostPort)!;
      await createWorkspace(store, workspace);
      await checkSchema(store);
      const { token } = await createApiToken(store, workspace, { name: 'stolen' });
      const { master } = cluster.shards.find((shard) => shard.master.port === lostPort)!;
      await master.kill();
      try {
        const run = await runInPlace(space, ['--workspace', workspace, 'token', 'revoke', token.keyId]);
        expect({ code: run.code, stderr: run.stderr }).to.deep.equal({ code: 0, stderr: says });
        expect(await findApiToken(store, workspace, token.keyId))
          .to.have.property('revokedAtMs')
          .that.is.a('number');
      } finally {
        master.restart();
        await eventually(async () => (await cluster.agree()) && masterNodes(store.redis).length === 3, WITHIN);
      }
    });
  }
});
