import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { openSession } from '@gateway/messenger/session/open-session';
import { createLogger } from '@gateway/runtime/logs/logger';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { eventually } from '@gateway/testkit/eventually';
import type { Answer } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const [OWNER, RECIPIENT] = makeNumbers(2, 9) as [string, string];

/** Both take long by their nature, and go on at the same time. */
describe('the life of a device, where it takes long', () => {
  const { space, simulator, gateway } = useGateway();
  let silentNetwork: Promise<Answer>;
  let stolenKeys: Promise<{ loginsOfOurs: number[]; owner: string }>;
  const accountOf = (of: string) => simulator.network.accounts.find(of);

  before(async () => {
    const silence = simulator.network.faults.add({ on: 'connect', do: { silent: true }, count: 1 });
    silentNetwork = gateway.call('POST', '/connect', { device: 'silent' });
    await eventually(() => silence.hits === 1);
    stolenKeys = stealKeys('stolen', OWNER);
    stolenKeys.catch(() => {});
  });

  it('answers 504 within 20 s when the network says nothing, and is disconnected', async () => {
    const { status: http, body } = await silentNetwork;
    expect(http, JSON.stringify(body)).to.equal(504);
    expect(body.error).to.equal('Messenger network did not answer');
    const after = await gateway.call('GET', '/status', { device: 'silent' });
    expect(after.body).to.include({ status: 'disconnected', reason: 'link_timeout' });
  }).slow(25_000);

  it('does not fight with another client that uses its keys: it waits each time, and gives up after three', async () => {
    const { loginsOfOurs, owner } = await stolenKeys;
    expect(loginsOfOurs).to.deep.equal([0, 0]);
    const after = await gateway.call('GET', '/status', { device: 'stolen' });
    expect(after.body).to.include({ status: 'disconnected', reason: 'replaced' });
    const body = { to: RECIPIENT, text: 'meanwhile' };
    expect((await gateway.call('POST', '/send', { device: 'stolen', body })).status).to.equal(409);
    // The keys are kept: without a code, and as the same device of the account.
    const [id] = accountOf(owner)!.devices.keys();
    const again = await gateway.call('POST', '/connect', { device: 'stolen' });
    expect(again.body).to.deep.equal({ success: true, status: 'connecting' });
    await gateway.waitForStatus('connected', 'stolen');
    expect([...accountOf(owner)!.devices.keys()]).to.deep.equal([id]);
  }).slow(35_000);

  /** Logs in from outside with the keys of a device, three times, each time after the gateway is back. */
  async function stealKeys(stolen: string, owner: string): Promise<{ loginsOfOurs: number[]; owner: string }> {
    await gateway.link(owner, stolen);
    const [linked] = accountOf(owner)!.devices.values();
    const loginsOfOurs: number[] = [];
    for (let round = 1; round <= 3; round++) {
      const thief = await logInFromOutside(stolen);
      const { logins } = linked!;
      if (round === 3) await gateway.waitForStatus('disconnected', stolen);
      else {
        const reflexMs = performance.now() + 5_000;
        await eventually(() => performance.now() > reflexMs);
        loginsOfOurs.push(linked!.logins - logins);
        await eventually(() => linked!.logins > logins, { timeoutMs: 15_000, what: 'the gateway tries again' });
      }
      await thief.close();
    }
    return { loginsOfOurs, owner };
  }

  async function logInFromOutside(stolen: string) {
    const address = { workspace: 'main', device: stolen };
    const reader = deviceKeyStore(space.store, { address, epoch: 0, token: 'none' });
    return new Promise<Awaited<ReturnType<typeof openSession>>>((resolve) => {
      const opening = openSession({
        keyStore: { ...reader, commit: async () => {} },
        caches: createSessionCaches(),
        endpoint: {
          url: simulator.socketUrl,
          trust: { kind: 'root', publicKey: Buffer.from(simulator.rootPublicKeyHex, 'hex') },
        },
        logger: createLogger({ service: 'thief', level: 'error' }),
        getMessage: async () => undefined,
        assertMayWrite: () => {},
        ackTimeoutMs: 1_000,
        onEvent: ({ kind }) => {
          if (kind === 'open') void opening.then(resolve);
        },
      });
    });
  }
});
