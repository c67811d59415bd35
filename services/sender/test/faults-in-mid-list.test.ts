import type { Simulator } from '@gateway/simulator/start-simulator';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

type Fault = Parameters<Simulator['network']['faults']['add']>[0];

const FAULTS: [string, Fault][] = [
  ['acks that never come', { on: 'message', do: { dropAck: true }, skip: 20, count: 3 }],
  ['messages that the network swallows', { on: 'message', do: { silent: true }, skip: 20, count: 3 }],
  ['a connection that closes before the ack', { on: 'message', do: { closeBeforeAck: true }, skip: 20, count: 1 }],
  [
    'a connection that closes before the message counts',
    { on: 'message', do: { closeBeforeAck: true, accept: false }, skip: 20, count: 1 },
  ],
  ['a connection that closes after the ack', { on: 'message', do: { closeAfterAck: true }, skip: 20, count: 1 }],
  ['a restart that the network asks for (515)', { on: 'message', do: { streamError: 515 }, skip: 20, count: 1 }],
  ['a network that is busy (503)', { on: 'message', do: { streamError: 503 }, skip: 20, count: 1 }],
  ['a stale device list (479)', { on: 'message', do: { ackError: 479 }, skip: 20, count: 1 }],
  ['a refusal for now (429)', { on: 'message', do: { ackError: 429 }, skip: 20, count: 2 }],
];

describe('a list that meets a fault of the network', () => {
  const { simulator, gateway } = useGateway({ env: { SESSION_TTL_MS: '2000', ACK_TIMEOUT_MS: '1000' } });
  const outcomes: Promise<void>[] = [];

  /** All at the same time, each with an account of its own: they mostly wait. */
  before(() => {
    for (const [series, [name, rule]] of FAULTS.entries()) outcomes.push(reachesAllOnce(name, rule, series));
    for (const outcome of outcomes) outcome.catch(() => {});
  });

  async function reachesAllOnce(name: string, rule: Fault, series: number): Promise<void> {
    const [device, account] = [`device-${series}`, `49170000010${series}`];
    await gateway.link(account, device);
    simulator.network.faults.add({ ...rule, match: { account } });
    const to = makeNumbers(40, series);
    const { status, body } = await gateway.call('POST', '/send', { device, body: { to, text: `under ${name}` } });
    expect(status, JSON.stringify(body)).to.equal(202);
    await gateway.waitForSend(body.messageId, { queued: 0, read: 40 }, { device });
    const shown = (await readDeliveries(simulator, account)).filter((message) => message.shown > 0);
    expect(shown.map((message) => message.to).sort()).to.deep.equal([...to].sort());
    expect(shown.every((message) => message.shown === 1)).to.equal(true);
  }

  for (const [index, [name]] of FAULTS.entries()) {
    it(`loses none and repeats none under ${name}`, () => outcomes[index]);
  }
});
