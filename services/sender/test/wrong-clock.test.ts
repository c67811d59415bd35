import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const AHEAD = new URL('fixtures/clock-ahead.js', import.meta.url).href;
const ACCOUNT = '447700900620';
const PHONE = '447700900621';

describe('a sender whose clock is six minutes ahead', () => {
  const fixture = useGateway({ senders: 0 });

  it('lets no one-time password expire, which live for five', async () => {
    const { gateway } = fixture;
    const sender = await gateway.addSender({ NODE_OPTIONS: `--import=${AHEAD}` });
    await gateway.link(ACCOUNT);
    const { body } = await gateway.call('POST', '/otp', { body: { phone: PHONE, code: '482913' } });
    expect(body.success, JSON.stringify(body)).to.equal(true);
    expect((await gateway.waitForSend(body.data.messageId, { read: 1 })).counts).to.include({ read: 1, expired: 0 });
    const offset = /^gateway_clock_offset_seconds (.*)$/m.exec(await sender.metrics())?.[1];
    expect(Number(offset), 'is told').to.be.closeTo(360, 5);
  });
});
