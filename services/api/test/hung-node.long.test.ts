import { BASE_PATH } from '@gateway/api/endpoints';
import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import type { GatewayEvent } from '@gateway/contracts/events/events';
import {
  deviceKeys,
  tokenIndexKey,
  tokenIndexPartKey,
  workspaceKeys,
  workspacesKey,
} from '@gateway/contracts/redis-keys';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { acknowledgeSend, type DeviceOwner, linkDevice } from './support/device-owner.js';
import { startTestApi, type TestApi } from './support/test-api.js';

const PHONE = '447700900001';
/** What a command to a node that hangs takes until it fails: who takes less waited for none. */
const COMMAND_MS = 2_000;
/** Until callers are told that Redis is away. */
const AWAY_MS = 3_000;
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
  let shop: string;
  let owners: { elsewhere: DeviceOwner; there: DeviceOwner };

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
    const link = (device: string) => linkDevice(space.store, { workspace, device });
    owners = { elsewhere: await link(elsewhere), there: await link(there) };
    shop = workspace;
    token = await tokenFor(workspace, elsewhere);
    tokenInPart = await tokenFor(workspace, elsewhere, true);
    tokenThere = await tokenFor(workspace, there);
    for (let i = 0; i < 2; i++) apis.push(await startTestApi(space, { waits: { otpMs: 50 } }));
  });
  afterEach(() => hung.thaw());
  after(async () => {
    for (const api of apis) await api.close();
    await space.close();
    await cluster.stop();
  });

  async function timed(api: TestApi, path: string, json: object, as = token, headers = {}) {
    const fromMs = performance.now();
    const { status } = await api.call('POST', path, { token: as, json, headers });
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
    // Each connects anew, and asks several things of it.
    const keyed: { status: number; ms: number }[] = [];
    const keyedFromMs = performance.now();
    await eventually(async () => {
      const headers = { 'idempotency-key': `order-${keyed.length}` };
      keyed.push(await timed(api, '/send', json, tokenThere, headers));
      return performance.now() - keyedFromMs > 12_000;
    });
    expect([...new Set(keyed.map(({ status }) => status))]).to.deep.equal([503]);
    expect(Math.max(...keyed.map(({ ms }) => ms))).to.be.below(AWAY_MS);
    hung.thaw();
    await eventually(async () => (await api.call('POST', '/send', { token: tokenThere, json })).status === 202, {
      everyMs: 200,
    });
  });

  it('tells events of other devices meanwhile, and those of its own from there on when it is back', async () => {
    const [api] = apis as [TestApi];
    const { store } = space;
    const { value } = await createApiToken(store, shop, { name: 'all', scopes: API_TOKEN_SCOPES });
    const read = async (query: string) => {
      const { status, body } = await api.call('GET', `/events${query}`, { token: value });
      expect(status).to.equal(200);
      const told = (body.events as GatewayEvent[]).map(({ device }) => device);
      return { told, cursor: body.nextCursor as string };
    };
    const change = async (owner: DeviceOwner, by: string) => {
      const sent = async () =>
        (await api.call('POST', '/send', { token: by, json: { to: PHONE, text: 'hello' } })).body;
      await eventually(async () => (await sent()).messageId !== undefined);
      const { messageId } = (await sent()) as { messageId: string };
      await acknowledgeSend(store, owner, messageId);
      for (const full of await findFullOutboxes(store, shop)) await relayOutbox(store, full);
      return owner.ownership.address.device;
    };
    const { cursor: start } = await read('?types=messages.updated');
    const there = await change(owners.there, tokenThere);
    const elsewhere = await change(owners.elsewhere, token);
    hung.freeze();
    const fromMs = performance.now();
    const first = await read(`?types=messages.updated&after=${start}`);
    expect(first.told).to.deep.equal([elsewhere]);
    const meanwhile = await read(`?types=messages.updated&wait=2&after=${first.cursor}`);
    expect(meanwhile.told).to.deep.equal([]);
    expect(performance.now() - fromMs).to.be.below(2 * COMMAND_MS + 2_000);
    const gone = new AbortController();
    const { status, body } = await fetch(`${api.origin}${BASE_PATH}/events/stream?types=messages.updated`, {
      headers: { Authorization: `Bearer ${value}`, 'Last-Event-ID': start },
      signal: gone.signal,
    });
    expect(status).to.equal(200);
    let heard = '';
    const listening = (async () => {
      for await (const piece of body!.pipeThrough(new TextDecoderStream())) heard += piece;
    })().catch(() => {});
    const devices = () => [...heard.matchAll(/"device":"(device-[0-9]+)","data"/g)].map(([, device]) => device);
    await eventually(() => devices().length === 1);
    hung.thaw();
    await eventually(() => devices().length === 2, { everyMs: 100 });
    expect(devices()).to.deep.equal([elsewhere, there]);
    gone.abort();
    await listening;
    const last = await read(`?types=messages.updated&wait=25&after=${meanwhile.cursor}`);
    expect(last.told).to.deep.equal([there]);
    expect((await read(`?types=messages.updated&after=${last.cursor}`)).told).to.deep.equal([]);
  });
});
