import { otpText } from '@gateway/contracts/content/otp-text';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { eventually } from '@gateway/testkit/eventually';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const WITHIN = { everyMs: 100, timeoutMs: 60_000 };
const CALMLY = { ...WITHIN, everyMs: 1_000 };
const ADDRESS = { workspace: 'main', device: 'default' };
const ACCOUNT = '491600000311';
const OTP = { phone: '447700900002', code: '482913' };

describe('an API whose master is cut off from its replicas, where they are waited for', () => {
  const { sentinels, space, gateway, send, shown } = useGateway({
    ...{ ownSentinels: true, readyMs: 90_000 },
    env: { REDIS_WAIT_REPLICAS: '1', SESSION_TTL_MS: '4000' },
  });
  before(() => gateway.link(ACCOUNT, 'default'));

  it('says neither that a code was not sent which the next one sends, nor that an account is disconnected which that keeps', async () => {
    const master = await eventually(async () => {
      const found = await sentinels.findMaster();
      return (await sentinels.agreeOn(found)) && found;
    }, WITHIN);
    await eventually(() => send(['447700900001'], 'before'), CALMLY);
    await eventually(() => shown(ACCOUNT, 'before').length === 1, WITHIN);
    await gateway.senders[0]!.stop();
    const otp = gateway.call('POST', '/otp', { body: OTP });
    const code = await eventually(async () => (await listOpenSends(space.store, ADDRESS))[0], WITHIN);
    // Once replicas have this they have the code.
    await send(['447700900001'], 'after the code');
    const heal = sentinels.cutOffWithClients(master);
    try {
      const cancelled = await gateway.call('DELETE', `/messages/${code}`);
      expect(cancelled.status, JSON.stringify(cancelled.body)).to.equal(503);
      const next = await eventually(async () => {
        const found = await sentinels.findMaster();
        return found !== master && found;
      }, WITHIN);
      const { status, body } = await otp;
      expect([status, body.error]).to.deep.equal([503, 'Not confirmed, and may still happen']);
      // It lets no token in any more, and so says nothing of the account.
      expect((await gateway.call('POST', '/disconnect', { device: 'default' })).status).to.equal(503);
      await gateway.addSender({ REDIS_URL: next.ownUrl });
      await eventually(() => shown(ACCOUNT, otpText(OTP.code, 'English')).length === 1, {
        ...WITHIN,
        what: 'the code is shown',
      });
    } finally {
      heal();
    }
  });
});
