import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import type { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '491700000001';

describe('a list of recipients, end to end', () => {
  const { simulator, gateway, send, shown } = useGateway({ senders: 2, env: { SESSION_TTL_MS: '2000' } });
  before(() => gateway.link(ACCOUNT));

  const progress = async (messageId: string) => (await gateway.call('GET', `/messages/${messageId}`)).body;
  /** Each phone of `numbers` shows the text once. */
  async function expectShownOnce(numbers: string[], text: string): Promise<void> {
    const shown = (await readDeliveries(simulator, ACCOUNT)).filter((message) => message.text === text);
    expect(shown.map(({ to }) => to).sort()).to.deep.equal([...numbers].sort());
    expect(shown.every((message) => message.shown === 1)).to.equal(true);
  }
  async function ownerInMidList(text: string): Promise<ServiceProcess> {
    await eventually(() => shown(ACCOUNT, text).length >= 50, { everyMs: 5 });
    return (await gateway.findOwner())!;
  }
  const waitForCount = (messageId: string, status: string, count: number, timeoutMs = 45_000) =>
    gateway.waitForSend(messageId, { [status]: count }, { timeoutMs });

  it('reaches every phone, and the receipts of the phones come back', async () => {
    const numbers = makeNumbers(30);
    const messageId = await send(numbers, 'hello everybody');
    const done = await waitForCount(messageId, 'read', 30);
    expect(done.status).to.equal('read');
    expect(done.recipients.map(({ to }: { to: string }) => to)).to.have.members(numbers);
    await expectShownOnce(numbers, 'hello everybody');
  });

  it('says of recipients who cannot be looked up that they wait for that, and sends when they can', async () => {
    const numbers = makeNumbers(3, 4);
    const fault = { on: 'iq' as const, match: { xmlns: 'usync' }, do: { error: 503 } };
    const { id } = simulator.network.faults.add(fault);
    const messageId = await send(numbers, 'who are you?');
    const errors = async () =>
      (await progress(messageId)).recipients.map(({ error }: { error: string | null }) => error);
    await eventually(async () => (await errors()).every((error: unknown) => error === 'looked_up_again'));
    expect(await progress(messageId)).to.deep.include({ status: 'queued' });
    simulator.network.faults.remove(id);
    await waitForCount(messageId, 'read', 3);
    expect(await errors()).to.deep.equal([null, null, null]);
    await expectShownOnce(numbers, 'who are you?');
  });

  it('says of numbers that are not on the messenger that they failed, and why', async () => {
    const [missing, present] = makeNumbers(2, 1);
    await fetch(`${simulator.adminUrl}/admin/phones/${missing}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ exists: false }),
    });
    const messageId = await send([missing!, present!], 'is anybody there');
    const done = await waitForCount(messageId, 'failed', 1);
    const failed = done.recipients.find(({ to }: { to: string }) => to === missing);
    expect(failed).to.include({ status: 'failed', error: 'not_on_messenger' });
    await waitForCount(messageId, 'read', 1);
  });

  it('survives SIGKILL of its sender in mid-list: another takes over, and every phone shows its message exactly once', async () => {
    const numbers = makeNumbers(300, 2);
    const messageId = await send(numbers, 'survivor');
    const owner = await ownerInMidList('survivor');
    await owner.kill();
    expect(shown(ACCOUNT, 'survivor').length, 'killed in mid-list').to.be.lessThan(300);
    await waitForCount(messageId, 'read', 300);
    await expectShownOnce(numbers, 'survivor');
    expect(simulator.network.counters.stanzasFromOlderLogin).to.equal(0);
  });

  it('hands over on SIGTERM in mid-list, without a loss or a duplicate', async () => {
    await gateway.addSender();
    const numbers = makeNumbers(300, 3);
    const messageId = await send(numbers, 'handed over');
    const owner = await ownerInMidList('handed over');
    expect(await owner.stop()).to.equal(true);
    expect(shown(ACCOUNT, 'handed over').length, 'stopped in mid-list').to.be.lessThan(300);
    await waitForCount(messageId, 'read', 300);
    await expectShownOnce(numbers, 'handed over');
  });
});
