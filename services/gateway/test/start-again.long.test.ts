import { eventually } from '@gateway/testkit/eventually';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '447700900610';
const PHONES = Array.from({ length: 300 }, (_, i) => `4477009${String(10_000 + i)}`);
/** Longer than the test may take: who waits for it fails. */
const TTL_MS = 60_000;

describe('a process that starts again under the name of one that died', () => {
  const env = { INSTANCE_NAME: 'only-one', SESSION_TTL_MS: String(TTL_MS) };
  const fixture = useGateway({ inOneProcess: true, env });

  it('goes on with its list at once, and each phone shows the message once', async () => {
    const { gateway, send, shown } = fixture;
    await gateway.link(ACCOUNT);
    const messageId = await send(PHONES, 'in the middle');
    await eventually(() => shown(ACCOUNT, 'in the middle').length > 20, { everyMs: 5 });
    await gateway.api.kill();
    await gateway.startAgain();
    await gateway.waitForSend(messageId, { read: PHONES.length });
    expect(shown(ACCOUNT, 'in the middle')).to.have.members(PHONES);
  });

  it('refuses to start while the other one answers', async () => {
    const failure = await fixture.gateway.addSender().catch(String);
    expect(failure).to.include('INSTANCE_NAME in use');
    expect((await fixture.gateway.call('GET', '/status')).body.status).to.equal('connected');
  });
});
