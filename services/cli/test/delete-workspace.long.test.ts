import { startSimulator } from '@gateway/simulator/start-simulator';
import { findWorkspace } from '@gateway/store/workspace/delete-workspace';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import { openRedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import { runCli } from './support/run-cli.js';

const ACCOUNT = '491600000044';

describe('a workspace that is deleted while its device sends', () => {
  it('has its account logged out, and nothing of it comes back', async () => {
    const [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    let gateway: Gateway | undefined;
    try {
      gateway = await Gateway.start({ space, simulator, inOneProcess: true, env: { PACE_PER_MINUTE: '60' } });
      await gateway.link(ACCOUNT);
      await createActiveWebhook(space.store, 'https://127.0.0.1:1/');
      const sent = await gateway.call('POST', '/send', { body: { to: makeNumbers(50, 44), text: 'hello' } });
      expect(sent.status).to.equal(202);
      const { stdout, stderr, code } = await runCli(space, ['workspace', 'delete', 'main', '--yes', '--json'], {
        workspace: 'beside',
      });
      expect(code, stderr).to.equal(0);
      expect(JSON.parse(stdout))
        .to.include({ workspace: 'main', devices: 1, left: 0 })
        .and.not.have.property('notLoggedOut');
      expect((await gateway.call('GET', '/status')).status, 'its token').to.equal(401);
      // What a process might still write about it, it would write while it stops.
      await gateway.close();
      const { found } = await findWorkspace(space.store, 'main', { withName: true });
      expect(found).to.deep.equal({ keys: [], entries: [] });
    } finally {
      await gateway?.close();
      await simulator.close();
      await space.close();
    }
  });
});
