import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '491700000061';
const FINAL = ['sent', 'delivered', 'read', 'failed', 'expired', 'cancelled'];

describe('the totals in the metrics', () => {
  const fixture = useGateway({ senders: 2, env: { SESSION_TTL_MS: '2000' } });

  /** A metric, summed over the series that have all of these labels. */
  const read = (text: string, name: string, ...labels: string[]) =>
    [...text.matchAll(/^(\w+)(?:\{([^}]*)\})? (\S+)$/gm)]
      .filter(([, found, inside = '']) => found === name && labels.every((label) => inside.includes(label)))
      .reduce((sum, [, , , value]) => sum + Number(value), 0);

  it('are those of the phones after a sender was killed: no one is lost or counted twice, and all processes say the same', async () => {
    const { gateway, send, shown, simulator } = fixture;
    await gateway.link(ACCOUNT);
    const list = makeNumbers(150, 61);
    const refused = list.slice(100, 120);
    for (const recipient of refused) {
      simulator.network.faults.add({ on: 'message', match: { recipient }, do: { ackError: 403 } });
    }
    const messageId = await send(list, 'to be counted');
    await eventually(() => shown(ACCOUNT, 'to be counted').length > 30);
    await (await gateway.findOwner())!.kill();
    const otp = await gateway.call('POST', '/otp', { body: { phone: list[0], code: '482913', language: 'English' } });
    expect(otp.status).to.be.oneOf([200, 202]);
    await gateway.waitForSend(messageId, { read: 130, failed: 20 });
    const settled = (text: string) => read(text, 'gateway_recipients', 'status="read"') === 131;
    await eventually(async () => (await gateway.metrics()).every(settled), { everyMs: 500 });

    const people = new Set(shown(ACCOUNT, 'to be counted'));
    for (const text of await gateway.metrics()) {
      const now = (...labels: string[]) => read(text, 'gateway_recipients', ...labels);
      const reached = (...labels: string[]) => read(text, 'gateway_recipients_reached_total', ...labels);
      expect(read(text, 'gateway_recipients_accepted_total')).to.equal(151);
      expect(now('status="queued"') + FINAL.reduce((sum, status) => sum + now(`status="${status}"`), 0)).to.equal(151);
      expect(now('kind="text"', 'status="read"')).to.equal(people.size).and.to.equal(130);
      expect(now('kind="otp"', 'status="read"')).to.equal(1);
      for (const status of ['sent', 'delivered', 'read'])
        expect(reached('kind="text"', `status="${status}"`)).to.equal(130);
      expect(read(text, 'gateway_recipients_failed_total', 'error="network_403"')).to.equal(20);
      expect(read(text, 'gateway_recipients_failed_total')).to.equal(20);
      expect(read(text, 'gateway_open_sends') + read(text, 'gateway_backlog_messages')).to.equal(0);
      expect(read(text, 'gateway_overdue_sends')).to.equal(0);
    }
  });
});
