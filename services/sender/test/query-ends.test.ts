import type { Session } from '@gateway/simulator/sessions/session';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

describe('a query that ends the connection', () => {
  const { simulator, gateway } = useGateway();
  const [number] = makeNumbers(1, 41) as [string];

  it('is asked twice and left out then, by the next owner too; the log says which, and status what the network said', async () => {
    const match = { account: number, xmlns: 'w:profile:picture' };
    const picture = simulator.network.faults.add({ on: 'iq', do: { streamError: 500 }, match });
    await gateway.link(number);
    await eventually(() => picture.hits === 2, { what: 'two ends' });
    const said = 'a query that ends the connection is left out for a day';
    // The second end has to be noticed first.
    const line = await eventually(() => gateway.logs().find(({ message }) => message === said));
    await gateway.waitForStatus('connected');
    expect(line).to.include({ query: 'ownPicture', device: 'default' });
    expect(
      gateway.logs().filter(({ message }) => message === said),
      'and no other',
    ).to.have.length(1);
    const [client] = simulator.network.accounts.find(number)!.devices.values();
    const { logins } = client!;
    await gateway.senders[0]!.stop();
    await gateway.addSender();
    await gateway.waitForStatus('connected');
    await eventually(() => client!.logins > logins);
    await gateway.call('POST', '/send', { body: { to: makeNumbers(1, 42), text: 'Hello' } });
    expect(picture.hits).to.equal(2);
  });

  it('shows the words of the network while the device is not connected', async () => {
    simulator.network.faults.clear();
    await gateway.waitForStatus('connected');
    const [client] = simulator.network.accounts.find(number)!.devices.values();
    (client!.connection as Session).endStream(503, { tag: 'text', attrs: {}, content: Buffer.from('come back later') });
    const status = await eventually(async () => {
      const { body } = await gateway.call('GET', '/status');
      return body.status === 'connecting' && body;
    });
    expect(status).to.include({ reason: 'network', networkReason: 'text come back later' });
    await gateway.waitForStatus('connected');
  });
});
