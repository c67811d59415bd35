import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import {
  deviceKeys,
  tokenIndexKey,
  tokenIndexPartKey,
  workspaceKeys,
  workspacesKey,
} from '@gateway/contracts/redis-keys';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { startTestApi, type TestApi } from './support/test-api.js';

const PHONE = '447700900001';
/** What a command to a node that hangs takes until it fails: who takes less waited for none. */
const COMMAND_MS = 2_000;
/** Of messages that wait in the workspace. */
const LIMIT = 30;
const people = (count: number) => Array.from({ length: count }, (_, i) => `4477009001${10 + i}`);
const names = (word: string) => Array.from({ length: 100 }, (_, i) => `${word}-${i}`);

describe('the API while a master of a Redis Cluster hangs that has the list of workspaces', () => {
  let cluster: RedisCluster;
  let space: RedisSpace;
  const apis: TestApi[] = [];
  let hung: RedisProcess;
  /** Of devices of one workspace of which the others have all: one of them, and one of the master that hangs. */
  let token: string;
  let tokenThere: string;
  /** As the first, but for its part of the list of tokens. The whole list is elsewhere. */
  let tokenInPart: string;

  const portOf = (key: string) => masterOfKey(space.store.redis, key).options.port!;
  const isThere = (key: string) => portOf(key) === hung.port;
  const backlogOf = (workspace: string, device: string) => deviceKeys(space.store.space, { workspace, device }).backlog;

  async function tokenFor(workspace: string, device: string, isPartThere = false): Promise<string> {
    for (;;) {
      const { token, value } = await createApiToken(space.store, workspace, {
        ...{ name: 'test', device, scopes: API_TOKEN_SCOPES },
      });
      if (isThere(tokenIndexPartKey(space.store.space, token.keyId)) === isPartThere) return value;
    }
  }

  before(async () => {
    // As Redis has it: until then the others take it for alive.
    cluster = await startRedisCluster({ nodeTimeoutMs: 15_000 });
    for (const { master } of cluster.shards) await askServer(master.url, 'CONFIG', 'SET', 'maxmemory', 300_000_000);
    for (;;) {
      space = await openRedisSpace({ url: cluster.url });
      if (portOf(tokenIndexKey(space.store.space)) !== portOf(workspacesKey(space.store.space))) break;
      await space.close();
    }
    hung = cluster.shards.find(({ master }) => master.port === portOf(workspacesKey(space.store.space)))!.master;
    const workspace = names('shop').find((name) => !isThere(workspaceKeys(space.store.space, name).devices))!;
    await createWorkspace(space.store, workspace);
    await setWorkspaceLimits(space.store, workspace, { backlog: LIMIT });
    const deviceWhere = (there: boolean) =>
      names('device').find((device) => isThere(backlogOf(workspace, device)) === there)!;
    const [elsewhere, there] = [deviceWhere(false), deviceWhere(true)];
    for (const device of [elsewhere, there]) await linkDevice(space.store, { workspace, device });
    token = await tokenFor(workspace, elsewhere);
    tokenInPart = await tokenFor(workspace, elsewhere, true);
    tokenThere = await tokenFor(workspace, there);
    for (let i = 0; i < 2; i++) apis.push(await startTestApi(space, { waits: { otpMs: 50 } }));
  });
  after(async () => {
    hung.thaw();
    for (const api of apis) await api.close();
    await space.close();
    await cluster.stop();
  });

  async function timed(api: TestApi, path: string, json: object, as = token) {
    const fromMs = performance.now();
    const { status } = await api.call('POST', path, { token: as, json });
    return { status, ms: performance.now() - fromMs };
  }

  it('answers callers who need nothing of it at once, and keeps what their operator allows', async () => {
    const [api, another] = apis as [TestApi, TestApi];
    const send = (from: TestApi, to: string | string[]) => timed(from, '/send', { to, text: 'hello' });
    await eventually(async () => (await send(api, PHONE)).status === 202);
    hung.freeze();
    const answers: { status: number; ms: number }[] = [];
    const fromMs = performance.now();
    await eventually(
      async () => {
        answers.push(await send(api, PHONE));
        answers.push(await timed(api, '/otp', { phone: PHONE, code: '482913' }));
        answers.push(await timed(api, '/opt-outs', { phone: '447700900002' }));
        // It is asked how full it is anew, again and again.
        return performance.now() - fromMs > 8_000;
      },
      { everyMs: 1_000 },
    );
    expect([...new Set(answers.map(({ status }) => status))]).to.have.members([202, 200]);
    expect(Math.max(...answers.map(({ ms }) => ms))).to.be.below(COMMAND_MS);

    expect((await send(api, people(LIMIT))).status, 'more than may wait').to.equal(503);
    // Has never heard of it.
    const first = await send(another, people(LIMIT));
    expect(first.status, 'through another').to.equal(503);
    expect((await send(another, PHONE)).status).to.equal(202);
    expect(first.ms).to.be.below(2 * COMMAND_MS);

    const json = { to: PHONE, text: 'hello' };
    const unknown = await timed(api, '/send', json, tokenInPart);
    expect(unknown.status, 'a token that was not known').to.equal(202);
    expect(unknown.ms).to.be.below(COMMAND_MS);

    const there = await api.call('POST', '/send', { token: tokenThere, json });
    expect([there.status, there.headers.has('retry-after')]).to.deep.equal([503, true]);
    hung.thaw();
    await eventually(async () => (await api.call('POST', '/send', { token: tokenThere, json })).status === 202, {
      everyMs: 200,
    });
  });
});
