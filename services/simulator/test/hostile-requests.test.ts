import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { expect } from 'chai';
import { WebSocket } from 'ws';
import { useSimulator } from './support/simulator-fixture.js';

describe('requests that are not meant well', () => {
  const network = useSimulator({ profile: '2026' });

  /** What the server answers to a request, as it stands on the wire. */
  async function statusOf(lines: string[], port = network.simulator.port): Promise<number> {
    const socket = connect(port, '127.0.0.1');
    socket.end(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`);
    return Number(/^HTTP\/1\.1 (\d{3}) /.exec(await text(socket))?.[1]);
  }

  for (const target of ['//', '//[', 'http://[/admin/info', '/admin/phones/%E0/messages']) {
    it(`are answered with 400 when they ask for ${target}`, async () => {
      expect(await statusOf([`GET ${target} HTTP/1.1`, 'Host: localhost'])).to.equal(400);
      expect(await statusOf(['GET /admin/info HTTP/1.1', 'Host: localhost'])).to.equal(200);
    });
  }

  it('are answered with 400 when they ask for a WebSocket at //', async () => {
    const upgrade = ['GET // HTTP/1.1', 'Host: localhost', 'Upgrade: websocket', 'Connection: Upgrade'];
    expect(await statusOf(upgrade)).to.equal(400);
  });

  for (const host of ['rebound.example', 'localhost.example', '127.0.0.1.example', '8.8.8.8', 'user@localhost', '']) {
    it(`do not reach the control API by the name "${host}"`, async () => {
      for (const line of ['GET /admin/info', 'GET /metrics', 'POST /admin/mock-phone/scan-qr', 'GET //']) {
        expect(await statusOf([`${line} HTTP/1.1`, `Host: ${host}`])).to.be.oneOf([400, 403]);
      }
    });
  }

  it('do not reach the control API from a page of another site', async () => {
    const post = ['POST /admin/mock-phone/enter-code HTTP/1.1', 'Host: 127.0.0.1', 'Content-Length: 0'];
    expect(await statusOf([...post, 'Origin: https://site.example'])).to.equal(403);
    expect(await statusOf([...post, 'Origin: null'])).to.equal(403);
    expect(await statusOf([...post, 'Origin: http://localhost:3000'])).to.equal(400);
  });

  it('do not become a client of the network from a page of another site', async () => {
    const open = (origin?: string) =>
      new Promise<number>((resolve) => {
        const client = new WebSocket(network.simulator.socketUrl, { ...(origin !== undefined && { origin }) });
        client.on('error', () => {}).on('unexpected-response', (_, { statusCode = 0 }) => resolve(statusCode));
        client.on('open', () => {
          client.close();
          resolve(101);
        });
      });
    for (const origin of ['https://site.example', 'null', 'https://web.whatsapp.com.example']) {
      expect(await open(origin), origin).to.equal(403);
    }
    for (const origin of [undefined, 'https://web.whatsapp.com', 'http://localhost:3000']) {
      expect(await open(origin), origin).to.equal(101);
    }
  });

  it('do not keep those of this machine from it', async () => {
    for (const host of ['localhost', 'LOCALHOST:80', '127.0.0.1', '127.1.2.3:9', '[::1]', 'a.localhost']) {
      expect(await statusOf(['GET /admin/info HTTP/1.1', `Host: ${host}`]), host).to.equal(200);
    }
  });

  it('do not keep anyone from it by the address that it listens on', async () => {
    const everywhere = await startSimulator({ host: '0.0.0.0' });
    expect(await statusOf(['GET /admin/info HTTP/1.1', 'Host: 0.0.0.0'], everywhere.port)).to.equal(200);
    expect(await statusOf(['GET /admin/info HTTP/1.1', 'Host: rebound.example'], everywhere.port)).to.equal(403);
    await everywhere.close();
  });
});
