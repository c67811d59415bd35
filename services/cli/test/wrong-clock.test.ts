import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { tokenIndexKey } from '@gateway/contracts/redis-keys';
import { readDevice } from '@gateway/store/devices/devices';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { createPassingToken, findApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const AHEAD = new URL('../../sender/test/fixtures/clock-ahead.js', import.meta.url).href;
const CLI = fileURLToPath(import.meta.resolve('@gateway/cli/main'));
const MINUTE_MS = 60_000;

describe('the command line on a machine whose clock is six minutes ahead', () => {
  let space: RedisSpace;
  let folder: string;
  before(async () => {
    space = await openRedisSpace();
    folder = await mkdtemp(join(tmpdir(), 'gateway-import-'));
    await createWorkspace(space.store, 'main');
  });
  after(async () => {
    await space.close();
    await rm(folder, { recursive: true });
  });

  async function cli(command: string): Promise<string> {
    const settings = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, ...space.keySettings };
    const child = spawn(process.execPath, [`--import=${AHEAD}`, CLI, '--workspace', 'main', ...command.split(' ')], {
      env: settings,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    expect(code, stderr).to.equal(0);
    return stdout;
  }

  it('ends no token of the console that is in use, and gives a device no account from a time that is to come', async () => {
    const { store } = space;
    const inUse = await createPassingToken(store, 'main', { name: 'page', expiresAtMs: Date.now() + MINUTE_MS });
    const creds = { me: { id: '491700000031:1@s.whatsapp.net' }, account: {}, noiseKey: {}, signedIdentityKey: {} };
    await writeFile(join(folder, 'creds.json'), JSON.stringify(creds));
    await cli(`device import ${folder} --device till`);
    expect(await store.redis.hexists(tokenIndexKey(store.space), inUse.token.keyId)).to.equal(1);
    const device = await readDevice(store, { workspace: 'main', device: 'till' });
    expect(device?.accountSinceMs).to.be.closeTo(Date.now(), MINUTE_MS);
  });

  it('writes down when people opted out, and when a token is to end, as the services see it', async () => {
    const { keyId } = JSON.parse(await cli('--json token create --name app --expires 30m'));
    expect((await findApiToken(space.store, 'main', keyId))?.expiresAtMs).to.be.closeTo(
      Date.now() + 30 * MINUTE_MS,
      MINUTE_MS,
    );
    await cli('optouts add 447700900001');
    expect((await findOptOut(space.store, 'main', '447700900001'))?.atMs).to.be.closeTo(Date.now(), MINUTE_MS);
  });
});
