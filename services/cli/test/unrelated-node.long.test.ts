import { consoleKeys, type KeySpace, schemaKey, workspaceKeys, workspacesKey } from '@gateway/contracts/redis-keys';
import { masterNodes, masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { checkSchema } from '@gateway/store/core/store';
import { createApiToken, findApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
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

describe('a token of a workspace whose own node of a Redis Cluster is there', () => {
  let cluster: RedisCluster;
  let space: RedisSpace;
  before(async () => {
    cluster = await startRedisCluster();
  });
  after(() => cluster.stop());
  afterEach(() => space.close());

  const portOf = (key: string) => masterOfKey(space.store.redis, key).options.port;

  for (const [what, { keyOf, says }] of Object.entries(PLACES)) {
    it(`can be revoked without the node of ${what}`, async () => {
      const others = Object.values(PLACES).filter((place) => place.keyOf !== keyOf);
      let lostPort: number | undefined;
      for (;;) {
        space = await openRedisSpace({ url: cluster.url });
        const { space: keys } = space.store;
        lostPort = portOf(keyOf(keys));
        if (others.every((other) => portOf(other.keyOf(keys)) !== lostPort)) break;
        await space.close();
      }
      const { store } = space;
      const names = Array.from({ length: 100 }, (_, i) => `shop-${i}`);
      const workspace = names.find((name) => portOf(workspaceKeys(store.space, name).devices) !== lostPort)!;
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
