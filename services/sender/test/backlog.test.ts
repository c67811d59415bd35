import { readDeviceState } from '@gateway/store/devices/device-state';
import { countOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '491700000091';

describe('what people wrote while the device was away', () => {
  const { space, simulator, gateway } = useGateway();

  before(async () => {
    await gateway.link(ACCOUNT);
    // Strangers get no message before the phone has told of the account.
    const [device] = simulator.network.accounts.ensure(ACCOUNT).devices.values();
    await eventually(() => device!.introduced, { what: 'the first history' });
  });

  const write = (from: string, text: string) =>
    fetch(`${simulator.adminUrl}/admin/phones/${from}/messages`, {
      method: 'POST',
      body: JSON.stringify({ to: ACCOUNT, text }),
    });

  it('counts before the first message of a list: of a hundred who wrote STOP none gets it, and an OTP does not wait', async () => {
    const numbers = makeNumbers(100, 91);
    const [asking, patient] = makeNumbers(2, 92) as [string, string];
    const shown = async () => (await readDeliveries(simulator, ACCOUNT)).map(({ to }) => to);
    await Promise.all([...gateway.senders, ...gateway.connections].map((service) => service.stop()));
    for (const number of numbers) await write(number, 'STOP');
    const list = await gateway.call('POST', '/send', { body: { to: [patient, ...numbers], text: 'a list' } });
    expect(list.status, JSON.stringify(list.body)).to.equal(202);

    // The network takes its time to say that this was all.
    const { backlog } = simulator.network.accounts.ensure(ACCOUNT);
    backlog.endMarkMs = 2_000;
    await gateway.addSender();
    const address = { workspace: 'main', device: 'default' };
    const reason = async () => (await readDeviceState(space.store, address)).observed?.reason;
    const said = eventually(async () => (await reason()) === 'awaiting_backlog', { everyMs: 20, what: 'said to wait' });
    const otp = await gateway.call('POST', '/otp', { body: { phone: asking, code: '482913' } });
    expect(otp.status, JSON.stringify(otp.body)).to.equal(200);
    expect(await shown(), 'before the end of the backlog').to.deep.equal([asking]);
    await said;
    const done = await gateway.waitForSend(list.body.messageId, { queued: 0, sent: 0, delivered: 0 });
    expect(done.counts).to.include({ failed: 100, read: 1 });
    expect(await countOptOuts(space.store, 'main')).to.equal(100);
    expect(await shown()).to.deep.equal([asking, patient]);
    expect(await reason()).to.equal(undefined);
  });
});
