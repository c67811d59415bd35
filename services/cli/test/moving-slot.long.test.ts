import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { toError } from '@gateway/runtime/errors';
import { masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { scanKeys } from '@gateway/runtime/redis/scan-keys';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { addOptOuts, findOptOut } from '@gateway/store/workspace/opt-outs';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { useMovingCluster } from '@gateway/testkit/redis-servers/use-moving-cluster';
import type { RedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import { runCli } from './support/run-cli.js';

const WITHIN = { everyMs: 200 };
const PHONE = '447700900001';
const MOVES =
  'error: not all keys can be seen, because a slot of the Redis Cluster moves: run it again when no slot moves\n';

describe('the command line while a slot of a Redis Cluster moves', () => {
  const moving = useMovingCluster();
  const { masterOf, finish } = moving;
  let space: RedisSpace;
  beforeEach(() => {
    space = moving.space;
  });

  /** Its keys are at a master that has no slot yet, so that clients do not hear of it. No slot twice: who gives its last one away becomes a replica. */
  async function moveToNewMaster(key: string): Promise<void> {
    await moving.move(key, { to: await moving.cluster.addMaster() });
  }

  it('does not delete a workspace whose keys move: its name is free once all of it was found', async () => {
    const { store } = space;
    await createWorkspace(store, 'shop');
    await addOptOuts(store, 'shop', { numbers: [PHONE], source: 'api', atMs: Date.now() });
    await moveToNewMaster(workspaceKeys(store.space, 'shop').devices);
    const remove = () =>
      runCli(space, ['workspace', 'delete', 'shop', '--wait', '1', '--yes', '--json'], { workspace: 'beside' });
    expect(await remove()).to.deep.equal({ code: 1, stdout: '', stderr: MOVES });
    expect(await createWorkspace(store, 'shop'), 'its name is free').to.equal(false);
    await finish();
    const { stdout } = await eventually(async () => {
      const run = await remove();
      return run.code === 0 && run;
    }, WITHIN);
    expect(JSON.parse(stdout)).to.include({ workspace: 'shop', left: 0 });
    expect(await createWorkspace(store, 'shop')).to.equal(true);
    expect(await findOptOut(store, 'shop', PHONE)).to.equal(undefined);
  });

  it('does not delete another workspace either, of which nothing moves, as it cannot know that', async () => {
    const { store } = space;
    await createWorkspace(store, 'shop');
    await moveToNewMaster(`${store.space.prefix}:{elsewhere}:key`);
    const { code, stderr } = await runCli(space, ['workspace', 'delete', 'shop', '--yes'], { workspace: 'beside' });
    expect({ code, stderr }).to.deep.equal({ code: 1, stderr: MOVES });
    expect(await createWorkspace(store, 'shop'), 'its name is free').to.equal(false);
  });

  it('does not retire a key: what it has encrypted may be what moves', async () => {
    const { store, keySettings } = space;
    await createWorkspace(store, 'office');
    await createActiveWebhook(store, 'https://example.com/', 'office');
    const env = {
      CONTENT_KEYS: `new:${'09'.repeat(32)},${keySettings.CONTENT_KEYS}`,
      CREDENTIAL_KEYS: `cred:${'0a'.repeat(32)}`,
    };
    const retire = () => runCli(space, ['keys', 'retire', 'test'], { workspace: 'office', env });
    await moveToNewMaster(workspaceKeys(store.space, 'office').devices);
    expect(await retire()).to.deep.equal({ code: 1, stdout: '', stderr: MOVES });
    await finish();
    const inUse = /^error: \d values are encrypted with test: run keys reseal first/;
    await eventually(async () => inUse.test((await retire()).stderr), WITHIN);
  });

  it('forgets a person whose device is elsewhere, and says of a device that moves that it is to be run again', async () => {
    const { store } = space;
    const address = { workspace: 'club', device: 'default' };
    await createWorkspace(store, 'club');
    await ensureDevice(store, address);
    const nowMs = Date.now();
    await acceptSend(store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: [PHONE] },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 3_600_000 },
    });
    const forget = () => runCli(space, ['person', 'forget', PHONE, '--json'], { workspace: 'club' });
    await moveToNewMaster(deviceKeys(store.space, address).device);
    const { code, stderr } = await forget();
    expect(code).to.equal(1);
    expect(stderr).to.match(/^error: not finished, run it again:\ndefault: not all keys can be seen, because a slot/);
    await finish();
    await moveToNewMaster(`${store.space.prefix}:{other}:key`);
    const { stdout } = await eventually(async () => {
      const run = await forget();
      return run.code === 0 && run;
    }, WITHIN);
    expect(JSON.parse(stdout)).to.deep.include({ device: 'default', what: 'sends', removed: 1 });
  });

  it('misses no key that goes from a master that is still to be read to one that was: who reads is told', async () => {
    const { redis, space: keys } = space.store;
    const { port } = masterNodes(redis)[0]!.options;
    const first = moving.cluster.shards.find(({ master }) => master.port === port)!.master;
    const key = ['a', 'b', 'c', 'd', 'e']
      .map((tag) => `${keys.prefix}:{${tag}}`)
      .find((key) => masterOf(key) !== first)!;
    await redis.set(key, 'x');
    const options = { match: `${keys.prefix}:*`, count: 10_000 };
    const read = async (pages: AsyncGenerator<string[]>) => {
      const found: string[] = [];
      for await (const page of pages) found.push(...page);
      return found;
    };
    const pages = scanKeys(redis, options);
    await pages.next();
    await moving.move(key, { to: first });
    await finish();
    expect(await read(pages).catch(toError)).to.have.property('code', 'redis_away');
    expect(await eventually(() => read(scanKeys(redis, options)), WITHIN)).to.deep.equal([key]);
  });
});
