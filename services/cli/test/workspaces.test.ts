import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { expect } from 'chai';
import { ACCOUNT, linkDevice } from '../../api/test/support/device-owner.js';
import { useTestApi } from '../../api/test/support/use-test-api.js';
import { runCli } from './support/run-cli.js';

describe('workspaces on the command line', () => {
  const { space, api } = useTestApi();
  const cli = (workspace: string, args: string) => runCli(space, args.split(' '), { workspace });

  it('are made by name, beside the one that is there from the start', async () => {
    const made = await cli('default', 'workspace create shop-2');
    expect(made.stdout, made.stderr).to.match(/workspace +shop-2\n/);
    const { stdout } = await cli('default', 'workspace list');
    expect(stdout).to.match(/^WORKSPACE +CREATED +LIMITS\ndefault +-\nshop-2 +20\d\d-[-\d :]+\n$/);
    for (const name of ['default', 'shop-2']) {
      const { code, stderr } = await cli('default', `workspace create ${name}`);
      expect(code).to.equal(1);
      expect(stderr).to.equal(`error: workspace ${name} exists already, or is being deleted\n`);
    }
  });

  it('have limits, which can be changed and taken back', async () => {
    await cli('default', 'workspace create shop-3 --devices 2 --backlog 500');
    const changed = await cli('default', 'workspace limit shop-3 --devices none --opt-outs 9 --json');
    expect(JSON.parse(changed.stdout), changed.stderr).to.deep.equal({ workspace: 'shop-3', backlog: 500, optOuts: 9 });
    expect((await cli('default', 'workspace limit nowhere')).stderr).to.equal('error: there is no workspace nowhere\n');
  });

  it('have tokens, devices and opt-outs of their own, and each token leads to its workspace', async () => {
    await linkDevice(space.store, { workspace: 'shop', device: 'default' });
    const shop = JSON.parse((await cli('shop', 'token create --name app --json')).stdout);
    const other = await createApiToken(space.store, 'default', { name: 'app' });
    const statusOf = async (token: string) => (await api.call('GET', '/status', { token })).body.status;
    expect([await statusOf(shop.token), await statusOf(other.value)]).to.deep.equal(['connected', 'disconnected']);
    await addOptOuts(space.store, 'shop', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });

    const lists = ['token list', 'device list', 'optouts list'].map((list) => cli('shop', list));
    const ofShop = (await Promise.all(lists)).map(({ stdout }) => stdout).join();
    for (const found of [shop.keyId, ACCOUNT, '447700900001']) expect(ofShop).to.include(found);
    expect(ofShop).not.to.include(other.token.keyId);
    const elsewhere = ['device list', 'optouts list', `token revoke ${shop.keyId}`];
    const told = await Promise.all(elsewhere.map((list) => cli('default', list)));
    expect(told.map(({ stdout, stderr }) => (stdout || stderr).trim())).to.deep.equal([
      'There are no devices yet: the first call of /connect makes one.',
      'There are no opt-outs.',
      `error: the token with the key ${shop.keyId} is in another workspace: --workspace shop`,
    ]);
    // What would go, and nothing goes without a word.
    const counted = JSON.parse((await cli('default', 'workspace delete shop --dry-run --json')).stdout);
    expect(counted.keys).to.be.above(3);
    expect((await cli('default', 'workspace delete shop')).stderr).to.include('add --yes, or --dry-run');
    expect(await statusOf(shop.token)).to.equal('connected');
  });
});
