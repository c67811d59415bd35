import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

describe('an endpoint that is found by its name', () => {
  const { api } = useTestApi({ once: true });

  async function ask(
    method: string,
    path: string,
    { token = api.token, json }: { token?: string; json?: object } = {},
  ) {
    const headers = { authorization: `Bearer ${token}`, ...(json && { 'content-type': 'application/json' }) };
    const asked = request({ port: api.port, method, path: BASE + path, headers });
    asked.end(json && JSON.stringify(json));
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const body = await text(answer);
    return { status: answer.statusCode, names: Object.keys(answer.headers), body };
  }

  it('answers as where its route is searched for, which an empty query makes of it', async () => {
    const requests: [method: string, path: string, options?: Parameters<typeof ask>[2]][] = [
      ['GET', '/status'],
      ['HEAD', '/status'],
      ['GET', '/opt-outs'],
      ['GET', '/send'],
      ['HEAD', '/send'],
      ['POST', '/send', { json: {} }],
      ['POST', '/send', { json: { to: '447700900123', text: 'hello' } }],
      ['POST', '/send', { json: {}, token: 'wrong' }],
      ['POST', '/otp', { json: { to: 1 } }],
    ];
    for (const [method, path, options] of requests) {
      const direct = await ask(method, path, options);
      expect(direct, `${method} ${path}`).to.deep.equal(await ask(method, `${path}?`, options));
    }
  });
});
