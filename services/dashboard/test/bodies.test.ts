import { type ClientRequest, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { Browser, useTestDashboard } from './support/test-dashboard.js';

describe('what is sent to the console', () => {
  const stage = useTestDashboard();
  const begun: ClientRequest[] = [];
  let operator: Browser;
  before(async () => {
    operator = await stage.dashboard.signIn('operator');
  });
  afterEach(() => {
    for (const each of begun.splice(0)) each.destroy();
  });

  /** Of a request whose body never comes. */
  function begin(
    browser: Browser,
    path: string,
    bytes: number,
  ): Promise<{ status: number; code: string; resetIn?: number }> {
    const headers = {
      'content-type': 'application/json',
      'content-length': String(bytes),
      'sec-fetch-site': 'same-origin',
      ...(browser.cookie && { cookie: browser.cookie }),
    };
    return new Promise((resolve) => {
      const sent = request({
        port: browser.port,
        host: '127.0.0.1',
        path: `/console/api${path}`,
        method: 'POST',
        headers,
        agent: false,
      });
      begun.push(sent);
      sent.on('error', () => {});
      sent.on('response', async (response) => {
        const { code, resetIn } = (await json(response)) as { code: string; resetIn?: number };
        resolve({ status: response.statusCode!, code, ...(resetIn !== undefined && { resetIn }) });
      });
      sent.flushHeaders();
    });
  }

  const sendOf = (message: unknown) => ({ device: 'default', key: 'k', message });

  it('is refused when it is nested or split so that reading it would stop all others', async () => {
    const nested = JSON.parse(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`);
    const many = { items: new Array(60_000).fill(1) };
    for (const message of [nested, many]) {
      const { status, body } = await operator.post('/messages', sendOf(message));
      expect([status, body.code]).to.deep.equal([400, 'invalid_request']);
    }
  });

  it('may say in texts whatever looks like structure', async () => {
    const text = `${'[{,:'.repeat(20_000)}\\"[\\\\`;
    const { body } = await operator.post('/messages', sendOf({ text }));
    expect(body.code, 'it went on to the API').to.equal('api_away');
  });

  it('is not waited for from those who are not signed in', async () => {
    const stranger = new Browser(stage.dashboard.port);
    expect(await begin(stranger, '/tokens', 60_000)).to.include({ status: 401 });
    expect(await begin(stranger, '/messages', 60_000)).to.include({ status: 401 });
    expect(await begin(stranger, '/sign-in', 3_000)).to.include({ status: 400 });
  });

  it('is large for two at a time; others are told to come again', async () => {
    const file = sendOf({ text: 'x'.repeat(1024 * 1024) });
    const begin2Mb = () => begin(operator, '/messages', 2 * 1024 * 1024);
    const answered = await Promise.race([begin2Mb(), begin2Mb(), begin2Mb()]);
    expect(answered).to.deep.equal({ status: 503, code: 'unavailable', resetIn: 2 });
    expect((await operator.post('/messages', sendOf({ text: 'short' }))).body.code).to.equal('api_away');
    for (const each of begun.splice(0)) each.destroy();
    await eventually(async () => (await operator.post('/messages', file)).body.code === 'api_away');
  });
});
