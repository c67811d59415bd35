import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { createApiToken, findApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { createWorkspace, hasWorkspace } from '@gateway/store/workspace/workspaces';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { runCli } from './support/run-cli.js';

const address = { workspace: 'main', device: 'default' };

describe('the command line where replicas are to have what is promised, and none does', () => {
  let space: RedisSpace;
  before(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
  });
  after(() => space.close());

  const cli = (args: string) =>
    runCli(space, args.split(' '), {
      env: { REDIS_WAIT_REPLICAS: '1', CREDENTIAL_KEYS: space.keySettings.CREDENTIAL_KEYS },
    });

  it('says so, of all that a failover must not bring back', async () => {
    const { store } = space;
    const { token } = await createApiToken(store, 'main', { name: 'app' });
    const nowMs = Date.now();
    const { messageId } = await acceptSend(store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['447700900001'] },
      ...{ owner: token.keyId, requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    await createWorkspace(store, 'shop');
    const commands = [
      `send cancel ${messageId}`,
      'optouts add 447700900001',
      'optouts remove 447700900002',
      `token scopes ${token.keyId} send`,
      `token revoke ${token.keyId}`,
      'person forget 447700900003',
      'workspace delete shop --yes',
    ];
    const runs = await Promise.all(commands.map(cli));
    for (const [i, { code, stdout, stderr }] of runs.entries()) {
      expect([code, stderr], commands[i]).to.deep.equal([1, 'error: replicas of Redis have not confirmed a write\n']);
      expect(stdout).to.equal('');
    }
    expect((await findApiToken(store, 'main', token.keyId))?.revokedAtMs, 'it may still happen').to.be.a('number');
    expect(await listOpenSends(store, address)).to.deep.equal([]);
    expect(await createWorkspace(store, 'shop'), 'its name is not free').to.equal(false);
    expect(await hasWorkspace(store, 'shop')).to.equal(true);
  });

  it('does what promises nothing', async () => {
    const { code, stdout, stderr } = await cli('token list --json');
    expect(code, stderr).to.equal(0);
    expect(JSON.parse(stdout)).to.have.length(1);
  });
});
