import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findApiToken } from '@gateway/store/api-tokens';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { ACCOUNT, linkDevice } from './support/device-owner.js';
import { startTestApi, type TestApi } from './support/test-api.js';

const CLI = fileURLToPath(import.meta.resolve('@gateway/api/cli'));

interface Run {
  code: number;
  stdout: string;
  stderr: string;
}

describe('the command line', function () {
  this.timeout(30_000);
  let space: RedisSpace;
  let api: TestApi;

  beforeEach(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space);
  });
  afterEach(async () => {
    await api.close();
    await space.close();
  });

  function cli(args: string, env: Record<string, string> = {}): Promise<Run> {
    const settings = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, ENCRYPTION_KEYS: space.encryptionKeys, ...env };
    return new Promise((resolve) => {
      execFile(process.execPath, [CLI, ...args.split(' ')], { env: settings }, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
      });
    });
  }

  it('makes a token that works until it is revoked', async () => {
    const created = await cli('token create --name shop --expires 90d');
    expect(created.code, created.stderr).to.equal(0);
    const token = /gw_[0-9a-z]+_[0-9a-z]+/.exec(created.stdout)![0];
    const keyId = token.split('_')[1]!;
    expect((await api.call('GET', '/status', { token })).status).to.equal(200);
    const stored = await findApiToken(space.store, 'main', keyId);
    expect(stored!.expiresAtMs).to.be.closeTo(Date.now() + 90 * 86_400_000, 60_000);

    const listed = await cli('token list');
    expect(listed.stdout).to.match(new RegExp(`${keyId} +shop +- +active`));
    expect(listed.stdout).not.to.include(token);
    expect(listed.stdout).not.to.include(stored!.hash);

    expect((await cli(`token revoke ${keyId}`)).stdout).to.include('revoked');
    expect((await api.call('GET', '/status', { token })).status).to.equal(401);
    expect((await cli('token list')).stdout).to.include('revoked');
  });

  it('prints one JSON value for programs', async () => {
    const { token, ...rest } = JSON.parse((await cli('token create --name shop --device shop --json')).stdout);
    expect((await api.call('GET', '/status', { token })).status).to.equal(200);
    expect(rest).to.include({ name: 'shop', device: 'shop', state: 'active' });
    const listed = JSON.parse((await cli('token list --json')).stdout) as object[];
    expect(listed).to.have.length(2);
  });

  it('shows devices', async () => {
    expect((await cli('device list')).stdout).to.include('There are no devices yet');
    await linkDevice(space.store, { workspace: 'main', device: 'shop' });
    expect((await cli('device list')).stdout).to.match(new RegExp(`shop +connected +${ACCOUNT} +0`));
    expect((await cli('device show shop')).stdout).to.match(/status +connected\n/);
    expect(JSON.parse((await cli('device show shop --json')).stdout)).to.include({ id: 'shop', phone: ACCOUNT });
  });

  it('says in a sentence what is wrong, and fails', async () => {
    const cases: [string, string, Record<string, string>?][] = [
      ['token create', "required option '--name <name>' not specified"],
      ['token create --name x --device Shop', 'It takes 1 to 40 of a-z, 0-9 and -.'],
      ['token create --name x --expires soon', 'It takes a number and a unit: 90d, 12h, 30m or 1y.'],
      ['token revoke 0000', 'there is no token with the key 0000'],
      ['device show nowhere', 'there is no device nowhere'],
      ['frobnicate', "unknown command 'frobnicate'"],
      ['token list', 'Redis does not answer', { REDIS_URL: 'redis://127.0.0.1:1' }],
      ['token list', 'ENCRYPTION_KEYS is required', { ENCRYPTION_KEYS: '' }],
    ];
    for (const [args, message, env] of cases) {
      const { code, stderr } = await cli(args, env);
      expect(code, args).to.equal(1);
      expect(stderr, args).to.include(message);
      expect(stderr, args).not.to.include('    at ');
    }
  });
});
