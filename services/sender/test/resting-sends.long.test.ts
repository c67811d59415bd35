import { LIMITS } from '@gateway/contracts/limits';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '491700000001';
const address = { workspace: 'main', device: 'default' };
/** As many lists as a device works on at a time. */
const PLACES = 150;

describe('more sends than places, each refused for now', () => {
  const { space, simulator, gateway, send } = useGateway({ senders: 2, env: { SESSION_TTL_MS: '1000' } });
  before(() => gateway.link(ACCOUNT));

  /** As the API writes it down; a sender finds it by itself. */
  async function open(to: string, text: string): Promise<string> {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text }, parts: 1, recipients: [to] },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now() - 5_000 },
      expiresAtMs: Date.now() + LIMITS.sendExpirySeconds * 1000,
    });
    return messageId;
  }

  it('let later lists pass, and reach each recipient once when the network accepts them, also after a kill', async () => {
    const busy = makeNumbers(PLACES);
    const later = makeNumbers(5, 1);
    const { faults } = simulator.network;
    const rules = busy.map((recipient) => faults.add({ on: 'message', match: { recipient }, do: { ackError: 503 } }));
    await Promise.all(busy.map((to) => open(to, 'not now')));
    await ringDoorbell(space.store, { topic: 'sends', ...address });
    await eventually(() => rules.every(({ hits }) => hits > 0), { what: 'everybody refused' });

    await gateway.waitForSend(await send(later, 'later'), { read: 5 }, { timeoutMs: 8_000 });

    faults.clear();
    await (await gateway.findOwner())!.kill();
    const shown = () => readDeliveries(simulator, ACCOUNT);
    await eventually(async () => (await shown()).filter(({ shown }) => shown > 0).length === PLACES + 5, {
      everyMs: 250,
      what: 'everybody reached',
    });
    expect((await shown()).every((message) => message.shown === 1)).to.equal(true);
  });
});
