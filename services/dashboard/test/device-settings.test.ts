import { decodeDoorbell } from '@gateway/contracts/doorbell';
import { makeAttemptId } from '@gateway/contracts/ids';
import { doorbellChannel } from '@gateway/contracts/redis-keys';
import { listAudit } from '@gateway/store/console/audit';
import { readDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { requestUnlink } from '@gateway/store/devices/device-state';
import { ensureDevice, readDevice } from '@gateway/store/devices/devices';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { cancelSend } from '@gateway/store/sends/change-send';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from '../../api/test/support/device-owner.js';
import { makeSend } from './support/make-send.js';
import { type Browser, startTestDashboard, type TestDashboard } from './support/test-dashboard.js';

const REAL_PACE = 20;
const inMain = (device: string) => ({ workspace: 'main', device });

describe('what operators set of a device in the console', () => {
  let space: RedisSpace;
  let dashboard: TestDashboard;
  let operator: Browser;
  before(async () => {
    space = await openRedisSpace();
    // On the real network: there is no simulator.
    dashboard = await startTestDashboard(space, { pacePerMinute: REAL_PACE });
    operator = await dashboard.signIn('operator');
    await ensureDevice(space.store, inMain('shop'));
  });
  after(async () => {
    await dashboard.close();
    await space.close();
  });

  const show = async (device: string) => (await operator.get(`/devices/${device}`)).body.device;
  const newestAudit = async () => (await listAudit(space.store))[0];

  it('a name for people, which may be anything that can be read', async () => {
    const name = '  <img src=x onerror=alert(1)> \u202Egnp  ';
    expect((await operator.post('/devices/shop/name', { name })).status).to.equal(200);
    expect(await show('shop')).to.include({ id: 'shop', name: name.trim() });
    expect(await newestAudit()).to.include({ user: 'operator', action: 'device.renamed', target: 'shop' });
    for (const bad of ['', ' ', 'x'.repeat(61), 'a\nb', 'a\u0000b']) {
      expect((await operator.post('/devices/shop/name', { name: bad })).status, JSON.stringify(bad)).to.equal(400);
    }
    expect((await operator.post('/devices/none/name', { name: 'x' })).status).to.equal(404);
  });

  it('the default: tokens without a device act on it', async () => {
    expect(await show('shop')).to.include({ isDefault: false });
    await operator.post('/devices/shop/default');
    expect(await readDefaultDevice(space.store, 'main')).to.equal('shop');
    expect(await show('shop')).to.include({ isDefault: true });
    expect(await newestAudit()).to.include({ action: 'device.made_default', target: 'shop' });
  });

  it('a pace, of which its sender hears at once; none without a limit on the real network', async () => {
    const bells: string[] = [];
    const subscriber = space.clients.subscriber.duplicate();
    await subscriber.subscribe(doorbellChannel({ prefix: space.prefix }));
    subscriber.on('message', (_channel, text) => bells.push(text));
    const standard = { messagesPerMinute: REAL_PACE, burst: 1, jitter: 0.3 };
    expect(await show('shop')).to.deep.include({ pace: standard, hasOwnPace: false });
    const pace = { messagesPerMinute: 6, burst: 2, jitter: 0.5 };
    expect((await operator.post('/devices/shop/pace', pace)).status).to.equal(200);
    expect((await readDevice(space.store, inMain('shop')))?.pace).to.deep.equal(pace);
    expect(await show('shop')).to.deep.include({ pace, hasOwnPace: true });
    await eventually(() => bells.map(decodeDoorbell).some((bell) => bell?.topic === 'sends' && bell.device === 'shop'));
    await subscriber.quit();
    const unpaced = await operator.post('/devices/shop/pace', { messagesPerMinute: 0 });
    expect([unpaced.status, unpaced.body.code]).to.deep.equal([400, 'unpaced']);
    for (const bad of [
      {},
      { messagesPerMinute: 1.5 },
      { messagesPerMinute: -1 },
      { messagesPerMinute: 1, jitter: 2 },
    ]) {
      expect((await operator.post('/devices/shop/pace', bad)).status).to.equal(400);
    }
    await operator.post('/devices/shop/pace', { messagesPerMinute: null });
    expect(await show('shop')).to.deep.include({ pace: standard, hasOwnPace: false });
    expect(await newestAudit()).to.include({ action: 'device.pace_set', target: 'shop: default' });
  });

  it('its end: when no account is linked to it, and nothing waits', async () => {
    const owner = await linkDevice(space.store, inMain('old'));
    await makeSend(space.store, owner, { count: 5, text: 'hello' });
    const remove = async () => {
      const { status, body } = await operator.post('/devices/old/remove');
      return [status, body.code];
    };
    expect(await remove()).to.deep.equal([409, 'device_linked']);
    await requestUnlink(space.store, inMain('old'), { attemptId: makeAttemptId() });
    await owner.observe({ status: 'disconnected', reason: 'disconnected' }, 'unlinked');
    expect(await remove()).to.deep.equal([409, 'device_sending']);
    const { messages } = (await operator.get('/messages?device=old')).body;
    await cancelSend(space.store, inMain('old'), messages[0].messageId);
    expect(await remove()).to.deep.equal([200, undefined]);
    expect(await show('old')).to.equal(null);
    expect((await operator.get('/devices')).body.devices.map(({ id }: { id: string }) => id)).to.deep.equal(['shop']);
    // What it has sent is found as long as any.
    expect((await operator.get(`/messages/${messages[0].messageId}`)).body.message).to.include({ device: 'old' });
    expect(await newestAudit()).to.include({ action: 'device.removed', target: 'old' });
    expect(await remove()).to.deep.equal([404, 'not_found']);
  });

  it('show when a restriction ends, and each change of state', async () => {
    const owner = await linkDevice(space.store, inMain('held'));
    const untilMs = Date.now() + 3_600_000;
    const restriction = { kind: 'reach_out_time_lock', sinceMs: Date.now(), untilMs } as const;
    await recordRestriction(space.store, owner.ownership, restriction, []);
    expect((await show('held')).restriction).to.include({ kind: 'reach_out_time_lock', untilMs });
    await owner.observe({ status: 'connecting', reason: 'network' });
    const { history } = (await operator.get('/devices/held/history')).body;
    expect(history.map(({ status }: { status: string }) => status)).to.deep.equal(['connecting', 'connected']);
  });
});
