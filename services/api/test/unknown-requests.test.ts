import { readDeviceState } from '@gateway/store/devices/device-state';
import { expect } from 'chai';
import { DEFAULT } from './support/device-owner.js';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

describe('unknown paths and methods (404, 405)', () => {
  const { space, api } = useTestApi({ once: true });

  it('answers unknown paths with 404 in the shape of all errors', async () => {
    for (const path of [
      '/nothing',
      '/',
      '/STATUS',
      '/send/x',
      '/message',
      '/messages/%zz',
      '/../status/%00',
      '/statu%73x',
      '/opt-outs/%ff',
    ]) {
      const { status, body, headers } = await api.call('GET', path);
      expect(status, path).to.equal(404);
      expect(body).to.deep.equal({ success: false, error: 'Not found' });
      expect(headers.get('content-type')).to.equal('application/json; charset=utf-8');
    }
    const { value } = await api.newToken();
    for (const path of ['/', '/api', '/api/messenger/v2/status', '/favicon.ico']) {
      const response = await fetch(`${api.origin}${path}`, { headers: { authorization: `Bearer ${value}` } });
      expect(response.status).to.equal(404);
      expect(await response.json()).to.deep.equal({ success: false, error: 'Not found' });
    }
  });

  it('answers unknown methods of known paths with 405, naming those there are', async () => {
    const cases: [string, string, string][] = [
      ['GET', '/send', 'POST'],
      ['DELETE', '/send', 'POST'],
      ['PUT', '/connect', 'GET, POST'],
      ['POST', '/status', 'GET, HEAD'],
      ['GET', '/disconnect', 'POST'],
      ['PATCH', '/messages/msg_x', 'GET, HEAD, DELETE'],
      ['OPTIONS', '/status', 'GET, HEAD'],
    ];
    for (const [method, path, allow] of cases) {
      const { status, body, headers } = await api.call(method, path);
      expect(status, `${method} ${path}`).to.equal(405);
      expect(body).to.deep.equal({ success: false, error: 'Method not allowed' });
      expect(headers.get('allow')).to.equal(allow);
    }
  });

  it('refuses HEAD where GET does something, having done nothing', async () => {
    const { status, headers } = await api.call('HEAD', '/connect');
    expect(status).to.equal(405);
    expect(headers.get('allow')).to.equal('GET, POST');
    expect(headers.get('x-ratelimit-limit'), 'counted as what it is').to.equal('60');
    expect((await readDeviceState(space.store, DEFAULT)).desired).to.equal(undefined);
    for (const path of ['/send', '/otp', '/disconnect']) {
      const refused = await api.call('HEAD', path);
      expect([refused.status, refused.headers.get('allow')], path).to.deep.equal([405, 'POST']);
    }
  });

  it('answers HEAD as GET everywhere else, without the body', async () => {
    for (const path of [
      '/status',
      '/opt-outs',
      '/opt-outs/447700900001',
      '/messages/msg_x',
      '/docs',
      '/openapi.json',
    ]) {
      const [head, get] = await Promise.all(
        ['HEAD', 'GET'].map((method) =>
          fetch(`${api.origin}${BASE}${path}`, { method, headers: { authorization: `Bearer ${api.token}` } }),
        ),
      );
      expect(head!.status, path).to.equal(get!.status);
      for (const name of ['content-type', 'content-length', 'cache-control', 'x-ratelimit-limit', 'etag']) {
        expect(head!.headers.get(name), `${name} of ${path}`).to.equal(get!.headers.get(name));
      }
      expect(await head!.text()).to.equal('');
      // A long body that is not read keeps its connection open, also after the server has closed it.
      await get!.body?.cancel();
    }
  });

  it('echoes a sane request id and makes one otherwise', async () => {
    const own = await api.call('GET', '/status', { headers: { 'x-request-id': 'order-7:a.b_c' } });
    expect(own.headers.get('x-request-id')).to.equal('order-7:a.b_c');
    for (const odd of ['', 'a b', 'x'.repeat(101), '<script>']) {
      const { headers } = await api.call('GET', '/status', { headers: { 'x-request-id': odd } });
      expect(headers.get('x-request-id')).to.match(/^req_[0-9a-f-]{36}$/);
    }
    const refused = await fetch(`${api.origin}${BASE}/status`);
    expect(refused.headers.get('x-request-id')).to.match(/^req_/);
  });

  it('answers conditional and HEAD requests like others, and tells nothing of what it is made of', async () => {
    const { status, headers } = await api.call('GET', '/status', {
      headers: { 'if-none-match': '*', 'if-modified-since': new Date().toUTCString() },
    });
    expect(status).to.equal(200);
    expect(headers.get('x-powered-by')).to.equal(null);
    expect(headers.get('cache-control')).to.equal('no-store');
    const head = await api.call('HEAD', '/status');
    expect(head.status).to.equal(200);
    expect(head.body).to.deep.equal({});
  });
});
