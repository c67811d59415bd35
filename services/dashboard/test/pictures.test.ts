import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { policyOf } from '@gateway/dashboard/pictures/fetch-picture';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from '../../api/test/support/device-owner.js';
import { type Browser, startTestDashboard, type TestDashboard } from './support/test-dashboard.js';

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(100)]);
/** A page that a browser would run, if it were taken for one. */
const PAGE = Buffer.from('<script>alert(1)</script>');

describe('pictures of accounts in the console', () => {
  let space: RedisSpace;
  let network: Server;
  let origin: string;
  let dashboard: TestDashboard;
  let viewer: Browser;
  const asked: string[] = [];
  const answers: Record<string, { type: string; body: Buffer; status?: number; location?: string }> = {
    '/fine': { type: 'text/html', body: PNG },
    '/page': { type: 'image/png', body: PAGE },
    '/svg': { type: 'image/svg+xml', body: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>') },
    '/huge': { type: 'image/png', body: Buffer.concat([PNG, Buffer.alloc(600 * 1024)]) },
    '/away': { type: 'text/plain', body: PAGE, status: 302, location: '/fine' },
  };
  before(async () => {
    network = createServer(({ url = '' }, response) => {
      asked.push(url);
      const { type, body, status = 200, location } = answers[url] ?? { type: 'x', body: PAGE, status: 404 };
      response.writeHead(status, { 'content-type': type, ...(location && { location }) }).end(body);
    });
    await new Promise<void>((resolve) => network.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(network.address() as AddressInfo).port}`;
    space = await openRedisSpace();
    dashboard = await startTestDashboard(space, { simulatorUrl: origin });
    viewer = await dashboard.signIn('viewer');
  });
  after(async () => {
    await dashboard.close();
    await space.close();
    await new Promise((resolve) => network.close(resolve));
  });

  async function picture(device: string, profilePic: string | undefined) {
    const owner = await linkDevice(space.store, { workspace: 'main', device });
    await owner.observe({ status: 'connected', phone: '447700900123', name: 'A', ...(profilePic && { profilePic }) });
    return viewer.get(`/devices/${device}/picture`);
  }

  it('are handed out by the console, fetched once, as what their bytes are', async () => {
    const { status, headers } = await picture('fine', `${origin}/fine`);
    expect(status).to.equal(200);
    expect(headers).to.include({
      'content-type': 'image/png',
      'content-length': String(PNG.length),
      'cache-control': 'private, max-age=86400',
      'x-content-type-options': 'nosniff',
    });
    await viewer.get('/devices/fine/picture');
    expect(asked.filter((path) => path === '/fine')).to.have.length(1);
    const view = (await viewer.get('/devices/fine')).body.device;
    expect(view.picture).to.match(/^[\w-]{12}$/);
    // No page learns where the network keeps it.
    expect(JSON.stringify(view)).not.to.include(origin);
  });

  it('are none where there is something else, too much, or a way elsewhere', async () => {
    for (const path of ['page', 'svg', 'huge', 'away', 'missing']) {
      const { status, text } = await picture(`from-${path}`, `${origin}/${path}`);
      expect([status, text], path).to.deep.equal([204, '']);
    }
    expect(asked.filter((path) => path === '/fine')).to.have.length(1);
    expect((await picture('without', undefined)).status).to.equal(204);
    expect((await viewer.get('/devices/none/picture')).status).to.equal(204);
    const elsewhere = origin.replace('127.0.0.1', 'localhost');
    expect((await picture('elsewhere', `${elsewhere}/fine`)).status).to.equal(204);
    expect(asked.filter((path) => path === '/fine')).to.have.length(1);
  });

  it('come from hosts of the network alone', () => {
    const real = (url: string) => policyOf(url, undefined);
    expect(real('https://pps.whatsapp.net/v/t61/x.jpg?oh=1')).to.deep.equal({
      ports: [443],
      addresses: { allowed: [] },
    });
    for (const url of [
      ...[
        'http://pps.whatsapp.net/x',
        'https://whatsapp.net.evil.example/x',
        'https://evilwhatsapp.net/x',
        'file:///x',
      ],
      ...[
        'https://pps.whatsapp.net@evil.example/x',
        'http://169.254.169.254/x',
        'http://127.0.0.1:6379/',
        'nonsense',
        '',
      ],
    ]) {
      expect(real(url), url).to.equal(undefined);
    }
    expect(policyOf('https://pps.whatsapp.net/x', 'http://127.0.0.1:4001')).to.equal(undefined);
  });
});
