import { once } from 'node:events';
import { connect } from 'node:net';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import WebSocket from 'ws';

describe('a client that hangs up while it connects', () => {
  let simulator: Simulator;

  before(async () => {
    simulator = await startSimulator();
  });
  after(() => simulator.close());

  /** Asks for a WebSocket, and resets the connection at once. */
  async function hangUp(): Promise<void> {
    const { hostname, port } = new URL(simulator.socketUrl);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const headers = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    const request = ['GET /ws/chat HTTP/1.1', 'Host: x', ...headers, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='];
    await new Promise((resolve) => socket.write(`${request.join('\r\n')}\r\n\r\n`, resolve));
    socket.resetAndDestroy();
  }

  for (const fault of [{ error: 503 }, { silent: true }, { delayMs: 20 }, {}]) {
    it(`does no harm under ${JSON.stringify(fault)}`, async () => {
      const rule = simulator.network.faults.add({ on: 'connect', do: fault });
      for (let i = 0; i < 20; i++) await hangUp();
      simulator.network.faults.clear();
      const answer = await fetch(`${simulator.adminUrl}/admin/faults`);
      expect(answer.status).to.equal(200);
      expect(rule.hits).to.be.greaterThan(0);
    });
  }
});

describe('a client that waits for a slow answer when the network closes', () => {
  it('does not hold it up', async () => {
    const simulator = await startSimulator();
    const rule = simulator.network.faults.add({ on: 'connect', do: { delayMs: 600_000 } });
    const client = new WebSocket(simulator.socketUrl);
    const failed = once(client, 'error');
    await eventually(() => rule.hits === 1);
    const startedMs = performance.now();
    await simulator.close();
    await failed;
    expect(performance.now() - startedMs).to.be.below(5_000);
  });
});
