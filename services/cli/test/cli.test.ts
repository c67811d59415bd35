import { listAudit } from '@gateway/store/console/audit';
import { takeOneTimeLink } from '@gateway/store/console/one-time-links';
import { findUser } from '@gateway/store/console/users';
import { readDevice } from '@gateway/store/devices/devices';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { findApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { ACCOUNT, linkDevice } from '../../api/test/support/device-owner.js';
import { startTestApi, type TestApi } from '../../api/test/support/test-api.js';
import { runCli } from './support/run-cli.js';

describe('the command line', () => {
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

  const cli = (args: string, env: Record<string, string> = {}) => runCli(space, args.split(' '), { env });

  it('makes users of the console, with a link that signs them in, and tells what was done', async () => {
    const env = { DASHBOARD_URL: 'https://console.example.com' };
    const made = await cli('user create --name ann@example.com --role viewer', env);
    expect(made.code, made.stderr).to.equal(0);
    const [, secret] = /https:\/\/console\.example\.com\/console\/sign-in#link=(\S+)/.exec(made.stdout)!;
    expect((await takeOneTimeLink(space.store, secret!))?.name).to.equal('ann@example.com');
    expect(await findUser(space.store, 'ann@example.com')).to.include({ role: 'viewer', hasPassword: false });
    expect((await cli('user create --name ann@example.com')).stderr).to.include('already');
    expect((await cli('user link --name bob')).stderr).to.include('no user bob');
    expect((await cli('user link')).stdout).to.include('http://localhost:3001/console/sign-in#link=');
    const { stdout } = await cli('user audit');
    expect(stdout)
      .to.match(/command line +user\.link_made +admin/)
      .and.not.include(secret);
  });

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
    await eventually(async () => (await api.call('GET', '/status', { token })).status === 401, { timeoutMs: 3_000 });
    expect((await cli('token list')).stdout).to.include('revoked');
  });

  it('makes a token that may do what is named, shows that, and changes it', async () => {
    const { token, keyId, scopes } = JSON.parse((await cli('token create --name x --scopes send,read --json')).stdout);
    expect(scopes).to.deep.equal(['send', 'read']);
    expect((await api.call('POST', '/connect', { token })).status).to.equal(403);
    expect((await cli('token list')).stdout).to.match(new RegExp(`${keyId} +x +- +active +send,read `));
    const rotated = JSON.parse((await cli(`token rotate ${token} --json`)).stdout);
    expect(rotated).to.deep.include({ name: 'x', scopes: ['send', 'read'], owner: keyId });
    const changed = await cli(`token scopes ${rotated.keyId} otp --json`);
    expect(JSON.parse(changed.stdout).scopes).to.deep.equal(['otp']);
    expect((await api.call('GET', '/status', { token: rotated.token })).status).to.equal(403);
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

  it('says that, and until when, a device may start no new conversations', async () => {
    const { ownership } = await linkDevice(space.store, { workspace: 'main', device: 'shop' });
    const untilMs = Date.parse('2030-01-02T03:04:05Z');
    await recordRestriction(space.store, ownership, { kind: 'reach_out_time_lock', sinceMs: 0, untilMs });
    expect((await cli('device list')).stdout).to.include('no new conversations');
    expect((await cli('device show shop')).stdout).to.match(/restrictedUntil +2030-01-02/);
  });

  it('chooses the device of tokens that are not linked to one', async () => {
    await linkDevice(space.store, { workspace: 'main', device: 'shop' });
    expect((await api.call('GET', '/status')).body.status).to.equal('disconnected');
    expect((await cli('device default')).stdout).to.match(/default +default\n/);
    expect((await cli('device default shop')).stdout).to.match(/default +shop\n/);
    expect((await api.call('GET', '/status')).body.status).to.equal('connected');
    expect((await cli('device list')).stdout).to.match(/shop \* +connected/);
  });

  it('renames and removes a device, and the audit log has what was done, but no number', async () => {
    const { store } = space;
    const address = { workspace: 'main', device: 'shop' };
    const owner = await linkDevice(store, address);
    await runCli(space, ['device', 'rename', 'shop', ' Corner shop ']);
    expect((await readDevice(store, address))?.displayName).to.equal('Corner shop');
    expect((await cli('device remove shop')).stderr).to.include('disconnect it first');
    await owner.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    expect(JSON.parse((await cli('device remove shop --json')).stdout)).to.deep.equal({
      device: 'shop',
      removed: true,
    });
    expect(await readDevice(store, address)).to.equal(undefined);
    await cli('optouts add 447700900123 447700900124');
    await cli('optouts remove 447700900123');
    const made = JSON.parse((await cli('token create --name job --json')).stdout);
    await cli(`token scopes ${made.keyId} read`);
    await cli(`token revoke ${made.keyId}`);
    const done = (await listAudit(store)).map(({ user, action, target }) => [user, action, target].join('|'));
    const job = `job (${made.keyId})`;
    expect(done).to.deep.equal(
      [
        `token.revoked|${job}`,
        `token.scopes_set|${job}: read`,
        `token.created|${job}`,
        ...['opt_out.lifted|1', 'opt_outs.added|2', 'device.removed|shop', 'device.renamed|shop'],
      ].map((each) => `command line|${each}`),
    );
  });

  it('sets the pace of a device', async () => {
    const address = { workspace: 'main', device: 'shop' };
    await linkDevice(space.store, address);
    expect((await cli('device pace shop')).stdout).to.include('that of the senders');
    expect((await cli('device pace shop 12 --burst 3')).stdout).to.include('12 a minute, 3 at once, gaps vary by 30 %');
    expect((await readDevice(space.store, address))!.pace).to.deep.equal({
      messagesPerMinute: 12,
      burst: 3,
      jitter: 0.3,
    });
    await cli('device pace shop --jitter 0.5');
    expect((await readDevice(space.store, address))!.pace).to.deep.equal({
      messagesPerMinute: 12,
      burst: 3,
      jitter: 0.5,
    });
    const refused = await cli('device pace shop 0');
    expect(refused.stderr).to.include('a pace of 0 is refused on the real network');
    const standIn = { MESSENGER_URL: 'ws://127.0.0.1:1/ws/chat', MESSENGER_TRUST: 'insecure' };
    expect((await cli('device pace shop 0', standIn)).stdout).to.include('unlimited');
    await cli('device pace shop default');
    expect((await readDevice(space.store, address))!.pace).to.equal(undefined);
  });

  it('shows open sends and cancels them', async () => {
    expect((await cli('send list')).stdout).to.include('There are no sends with work left');
    await linkDevice(space.store);
    const to = ['447700900001', '447700900002'];
    const { body } = await api.call('POST', '/send', { json: { to, text: 'a secret' } });
    const messageId = String(body.messageId);
    expect((await cli('send list')).stdout).to.match(new RegExp(`${messageId} +default +text +queued +2 +2 `));
    expect(JSON.parse((await cli('send list --device default --json')).stdout)).to.have.length(1);
    const shown = await cli(`send show ${messageId}`);
    expect(shown.stdout).to.match(/status +queued\n/);
    expect(shown.stdout).not.to.match(/secret|4477009/);
    expect(JSON.parse((await cli(`send cancel ${messageId} --json`)).stdout)).to.include({
      cancelled: 2,
      cancelledNow: 2,
    });
    expect((await cli('send list')).stdout).to.include('There are no sends with work left');
    expect((await cli(`send cancel ${messageId}`)).stdout).to.match(/cancelledNow +0\n/);
  });

  it('says in a sentence what is wrong, and fails', async () => {
    const cases: [string, string, Record<string, string>?][] = [
      ['token create', "required option '--name <name>' not specified"],
      ['token create --name x --device Shop', 'Expected 1 to 40 of a-z, 0-9 and -.'],
      ['token create --name x --expires soon', 'Expected a number and a unit: 90d, 12h, 30m or 1y.'],
      ['token create --name x --scopes send,all', 'Expected some of connect,send,otp,'],
      ['token rotate 0000', 'there is no token with the key 0000'],
      ['token revoke 0000', 'there is no token with the key 0000'],
      ['device show nowhere', 'there is no device nowhere'],
      ['device doctor --device nowhere', 'there is no device nowhere'],
      ['device doctor --trace 16', 'Expected 1 to 15 seconds.'],
      ['device pace nowhere 5', 'there is no device nowhere'],
      ['device pace x fast', 'Expected 0 to 100000 messages a minute'],
      ['device rename nowhere x', 'there is no device nowhere'],
      [`device rename x ${'n'.repeat(61)}`, 'Expected 1 to 60 characters'],
      ['device remove nowhere', 'there is no device nowhere'],
      ['device default Shop', 'Expected 1 to 40 of a-z, 0-9 and -.'],
      ['send show msg_1', 'there is no send msg_1'],
      ['--workspace nowhere token list', 'there is no workspace nowhere; create it with: workspace create nowhere'],
      ['--workspace a:b token list', 'It takes 1 to 40 of a-z, 0-9 and -.'],
      ['workspace create Shop', 'It takes 1 to 40 of a-z, 0-9 and -.'],
      ['frobnicate', "unknown command 'frobnicate'"],
      ['token list', 'Redis does not answer', { REDIS_URL: 'redis://127.0.0.1:1' }],
      ['token list', 'CONTENT_KEYS is required', { CONTENT_KEYS: '' }],
      ['token list', 'ENCRYPTION_KEYS was split in two', { ENCRYPTION_KEYS: 'k1:0' }],
    ];
    const runs = await Promise.all(cases.map(([args, , env]) => cli(args, env)));
    for (const [i, [args, message]] of cases.entries()) {
      const { code, stderr } = runs[i]!;
      expect(code, args).to.equal(1);
      expect(stderr, args).to.include(message);
      expect(stderr, args).not.to.include('    at ');
    }
  });
});
