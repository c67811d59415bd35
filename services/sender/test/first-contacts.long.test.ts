import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

type Row = { to: string; status: string; error: string | null };

describe('strangers, on a device that has no salt', () => {
  const { simulator, gateway } = useGateway();

  const change = (account: string, body: object) =>
    fetch(`${simulator.adminUrl}/admin/accounts/${account}`, { method: 'PUT', body: JSON.stringify(body) });
  const write = (from: string, to: string) =>
    fetch(`${simulator.adminUrl}/admin/phones/${from}/messages`, {
      method: 'POST',
      body: JSON.stringify({ to, text: 'hi' }),
    });
  const shownTo = async (account: string) => (await readDeliveries(simulator, account)).map(({ to }) => to);

  async function link(series: number, rules: object) {
    const [device, account] = [`device-${series}`, `4917000003${series}`];
    await change(account, rules);
    await gateway.link(account, device);
    const otp = (phone: string) => gateway.call('POST', '/otp', { device, body: { phone, code: '482913' } });
    const send = async (to: string[]): Promise<string> => {
      const { status, body } = await gateway.call('POST', '/send', { device, body: { to, text: 'a list' } });
      expect(status, JSON.stringify(body)).to.equal(202);
      return body.messageId;
    };
    const recipients = async (messageId: string): Promise<Row[]> => {
      const { status, body } = await gateway.call('GET', `/messages/${messageId}`, { device });
      expect(status, JSON.stringify(body)).to.equal(200);
      return body.recipients;
    };
    const waitFor = (messageId: string, what: string, isMeant: (rows: Row[]) => boolean) =>
      eventually(
        async () => {
          const rows = await recipients(messageId);
          return isMeant(rows) && rows;
        },
        // A token may ask for messages 60 times a minute.
        { everyMs: 1_100, what },
      );
    return { device, account, otp, send, waitFor };
  }

  it('wait for one that comes late, and none fails; who gave a token gets an OTP at once meanwhile', async () => {
    const test = await link(41, { backlog: { isHistoryWithheld: true } });
    const [asking, friend, ...strangers] = makeNumbers(22, 41) as [string, string, ...string[]];
    const list = await test.send(strangers);
    const waits = test.otp(asking);
    await test.waitFor(list, 'all wait', (rows) => rows.every(({ error }) => error === 'awaiting_history'));
    await write(friend, test.account);
    await eventually(() => simulator.network.accounts.ensure(test.account).tokens.has(friend));
    const startedMs = performance.now();
    const otp = await test.otp(friend);
    expect(performance.now() - startedMs, 'OTP to one who wrote').to.be.lessThan(1_000);
    expect(otp.status, JSON.stringify(otp.body)).to.equal(200);
    expect(await shownTo(test.account)).to.deep.equal([friend]);

    await change(test.account, { backlog: { isHistoryWithheld: false } });
    expect((await waits).status, 'OTP to a stranger').to.equal(200);
    const rows = await test.waitFor(list, 'all are there', (all) => all.every(({ status }) => status === 'read'));
    expect(rows.map(({ error }) => error)).to.deep.equal(strangers.map(() => null));
    expect((await shownTo(test.account)).sort()).to.deep.equal([asking, friend, ...strangers].sort());
  });

  it('are refused without one: after three in a row the others are held and not failed, until they write', async () => {
    const test = await link(42, { hasSalt: false });
    const strangers = makeNumbers(40, 42);
    const list = await test.send(strangers);
    const holds = () =>
      gateway.logs().filter(({ message }) => String(message).startsWith('messages to strangers are held'));
    await eventually(() => holds().length > 0, { what: 'the hold' });
    const rows = await test.waitFor(list, 'the others wait', (all) =>
      all.every(({ status, error }) => status === 'failed' || error === 'awaiting_history'),
    );
    const failed = rows.filter(({ status }) => status === 'failed');
    expect(failed.length).to.be.at.most(2);
    expect(failed.every(({ error }) => error === 'network_463')).to.equal(true);
    expect(holds()).to.have.length(1);
    expect((await gateway.metrics()).join()).to.match(/gateway_recipients_held_total\S* [1-9]/);

    const writer = strangers.at(-1)!;
    await write(writer, test.account);
    await test.waitFor(list, 'one who wrote', (all) => all.at(-1)!.status === 'read');
    expect(await shownTo(test.account)).to.deep.equal([writer]);
  });
});
