import { Writable } from 'node:stream';
import { createLogger } from '@gateway/runtime/logs/logger';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { exchange } from './support/raw-request.js';
import { BASE, startTestApi, type TestApi } from './support/test-api.js';

describe('logs of the API', () => {
  let space: RedisSpace;
  let api: TestApi;
  let lines: string[];

  beforeEach(async () => {
    lines = [];
    const destination = new Writable({
      write(chunk, _encoding, done) {
        lines.push(...String(chunk).split('\n').filter(Boolean));
        done();
      },
    });
    space = await openRedisSpace();
    api = await startTestApi(space, {
      logger: createLogger({ service: 'api', level: 'debug', pretty: false, destination }),
    });
    await linkDevice(space.store);
  });
  afterEach(async () => {
    await api.close();
    await space.close();
  });

  it('have no error of requests that were answered as broken before their turn', async () => {
    const { value } = await api.newToken();
    const asked = [`GET ${BASE}/status HTTP/1.1`, 'Host: x', `Authorization: Bearer ${value}`, '', ''].join('\r\n');
    const atOnce = Array.from({ length: 20 }, () => exchange(api.port, [`${asked}NOT HTTP\r\n\r\n`]));
    for (const [answer] of await Promise.all(atOnce)) expect(answer!.status).to.equal(400);
    // What they asked of Redis is answered before this one.
    expect((await api.call('GET', '/status', { token: value })).status).to.equal(200);
    expect(lines.filter((line) => JSON.parse(line).level === 'error')).to.deep.equal([]);
  });

  it('tell each request with its id, template, status and token id', async () => {
    const { value, token } = await api.newToken();
    await api.call('GET', '/messages/msg_x', { token: value, headers: { 'x-request-id': 'order-7' } });
    const line = lines.map((text) => JSON.parse(text)).find(({ message }) => message === 'request answered');
    expect(line).to.include({
      workspace: 'main',
      requestId: 'order-7',
      method: 'GET',
      route: '/messages/:messageId',
      status: 404,
      tokenId: token.keyId,
    });
  });

  it('hold no whole number of an id that a caller has made, which it gets back as it was', async () => {
    const trace = '4bf92f3577b34da6a3c447700900123f';
    const { headers } = await api.call('GET', '/status', { headers: { 'x-request-id': trace } });
    expect(headers.get('x-request-id')).to.equal(trace);
    await eventually(() => lines.some((text) => text.includes('request answered')));
    expect(lines.map((text) => JSON.parse(text).requestId)).to.deep.equal(['4bf92f3577b34da6a3c447***23f']);
  });

  it('tell a send by one line, with all that leads to it', async () => {
    const { value, token } = await api.newToken();
    const headers = { 'x-request-id': 'order-9' };
    const json = { to: ['447700900001', '447700900002'], text: 'hello' };
    const { body } = await api.call('POST', '/send', { token: value, json, headers });
    await eventually(() => lines.some((text) => text.includes('request answered')));
    const told = lines.map((text) => JSON.parse(text)).filter(({ level }) => level !== 'debug');
    expect(told.map(({ message }) => message)).to.deep.equal(['send accepted']);
    expect(told[0]).to.include({
      ...{ requestId: 'order-9', messageId: body.messageId, device: 'default', kind: 'text', recipients: 2 },
      ...{ tokenId: token.keyId, workspace: 'main' },
    });
  });

  it('tell why the URL of an attachment was not fetched, and nothing of it but its host', async () => {
    const url = 'http://169.254.169.254/classified/path?key=classified#classified';
    const attachment = { type: 'document', url, filename: 'classified' };
    const headers = { 'x-request-id': 'order-8' };
    expect((await api.call('POST', '/send', { json: { to: '447700900001', attachment }, headers })).status).to.equal(
      400,
    );
    const parsed = lines.map((text) => JSON.parse(text));
    const line = parsed.find(({ message }) => message === 'attachment URL not fetched');
    expect(line).to.include({ requestId: 'order-8', host: '169.254.169.254', reason: 'address' });
    expect(lines.join('\n')).not.to.include('classified');
    expect(await api.metrics()).to.match(/gateway_attachment_url_refusals_total\{[^}]*refusal="address"[^}]*\} 1/);
  });

  it('hold no token, text or number, wherever the caller wrote them', async () => {
    const { value } = await api.newToken();
    const secrets = [value, 'classified', '447700900001', 'gw_wrong_token'];
    await fetch(`${api.origin}${BASE}/status?token=${value}`);
    await fetch(`${api.origin}${BASE}/status?token=gw_wrong_token`);
    await fetch(`${api.origin}${BASE}/classified?token=${value}`);
    await api.call('POST', '/send', { json: { to: '447700900001', text: 'classified' } });
    await api.call('POST', '/send', { json: { to: ['447700900001', 'classified'], text: 'classified' } });
    await api.call('POST', '/send', {
      body: '{"to": "447700900001, classified',
      headers: { 'content-type': 'application/json' },
    });
    expect(lines.length).to.be.at.least(6);
    for (const secret of secrets) expect(lines.join('\n')).not.to.include(secret);
  });
});
