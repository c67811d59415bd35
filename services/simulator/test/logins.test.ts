import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import WebSocket from 'ws';
import { useSimulator } from './support/simulator-fixture.js';

describe('logins', () => {
  const network = useSimulator({ profile: '2026' });
  const counters = () => network.simulator.network.counters;

  it('lets a linked client back in', async () => {
    const first = await network.link();
    await first.socket.end(undefined);
    const again = await network.logIn(first.state);
    expect(again.number).to.equal(first.number);
  });

  it('refuses a device whose Noise key is not the one it was linked with', async () => {
    const [one, two] = [await network.link(), await network.link()];
    const thief = { creds: { ...two.state.creds, me: one.state.creds.me! }, keys: two.state.keys };
    const { outcome } = network.connect(thief);
    expect(await outcome).to.deep.equal({ open: false, code: 401 });
  });

  it('ends the older connection with a conflict when the device logs in again', async () => {
    const first = await network.link();
    await network.logIn(first.state);
    expect(await first.closed).to.equal(440);
  });

  it('takes nothing from a connection that was replaced', async () => {
    const first = await network.link();
    const { stanzasFromOlderLogin, replacedLogins } = counters();
    network.simulator.network.settings.latencyMs = 300;
    const second = network.logIn(first.state);
    await eventually(() => expect(counters().replacedLogins).to.be.above(replacedLogins));
    await first.socket.sendNode({
      tag: 'message',
      attrs: { id: 'LATE', to: '4915100000009@s.whatsapp.net', type: 'text' },
    });
    await eventually(() => expect(counters().stanzasFromOlderLogin).to.equal(stanzasFromOlderLogin + 1));
    network.simulator.network.settings.latencyMs = 0;
    await second;
    const { body } = await network.admin('GET', '/admin/phones/4915100000009/messages');
    expect(body).to.deep.equal([]);
  });

  it('removes a client that logs out, for good', async () => {
    const client = await network.link();
    await client.socket.logout();
    await eventually(() => expect(network.simulator.network.accounts.find(client.number)?.isLinked).to.equal(false));
    expect(await network.connect(client.state).outcome).to.deep.equal({ open: false, code: 401 });
  });

  it('tells a client that it was unlinked on the phone, and refuses its next login', async () => {
    const client = await network.link();
    const { status } = await network.admin('DELETE', `/admin/accounts/${client.number}/devices/1`);
    expect(status).to.equal(200);
    expect(await client.closed).to.equal(401);
    expect(await network.connect(client.state).outcome).to.deep.equal({ open: false, code: 401 });
  });

  it('gives a device number out once only', async () => {
    const first = await network.link({}, '4915100000010');
    await network.admin('DELETE', `/admin/accounts/${first.number}/devices/1`);
    const second = await network.link({}, '4915100000010');
    expect(second.state.creds.me?.id).to.equal('4915100000010:2@s.whatsapp.net');
  });

  it('cuts all connections on demand, and all clients come back', async () => {
    const client = await network.link();
    const { body } = await network.admin('POST', '/admin/restart-sockets');
    expect((body as { closed: number }).closed).to.be.above(0);
    expect(await client.closed).to.equal(428);
    await network.logIn(client.state);
  });

  it('refuses clients older than the oldest version it lets in', async () => {
    const client = await network.link();
    await client.socket.end(undefined);
    network.simulator.network.settings.minimumVersion = [2, 3000, 9_999_999_999];
    expect(await network.connect(client.state).outcome).to.deep.equal({ open: false, code: 405 });
    network.simulator.network.settings.minimumVersion = [];
  });

  it('answers a login with the failure or the stream error that a fault asks for', async () => {
    const client = await network.link();
    await client.socket.end(undefined);
    for (const [action, code] of [
      [{ error: 403 }, 403],
      [{ streamError: 503 }, 503],
    ] as const) {
      await network.admin('PUT', '/admin/faults', [{ on: 'login', do: action, count: 1 }]);
      expect(await network.connect(client.state).outcome).to.deep.equal({ open: false, code });
    }
  });

  it('refuses connections with an HTTP status before they begin', async () => {
    await network.admin('PUT', '/admin/faults', [{ on: 'connect', do: { error: 503 }, count: 1 }]);
    // Not a stock client: it listens to this event and waits for ever.
    const socket = new WebSocket(network.simulator.socketUrl);
    const error = await new Promise<Error>((resolve) => socket.on('error', resolve));
    expect(error.message).to.equal('Unexpected server response: 503');
  });

  it('says nothing to a client whose connection a fault keeps silent', async () => {
    await network.admin('PUT', '/admin/faults', [{ on: 'connect', do: { silent: true }, count: 1 }]);
    const client = await network.link({ connectTimeoutMs: 300 }).catch((error: Error) => error);
    expect(client).to.be.instanceOf(Error);
  });
});
