import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { BodyBudget } from '@gateway/api/http/body/body-budget';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const MEGABYTE = 1024 * 1024;
/** Of a whole request, which ends with 408 as well. */
const TIMEOUT_MS = 20_000;
const TEXT = { to: '447700900001', text: 'hello' };
const OTP = { phone: '447700900001', code: '482913' };
const FILE = {
  to: '447700900001',
  attachment: { type: 'document', base64: Buffer.alloc(9 * MEGABYTE).toString('base64') },
};

describe('the memory for request bodies', () => {
  const sockets: Socket[] = [];
  // Before the API is closed: it waits for their requests.
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  const { api } = useTestApi({
    linked: true,
    bodyBudgetBytes: 64 * MEGABYTE,
    waits: { otpMs: 50, bodyMs: 1_000 },
    requestTimeoutMs: TIMEOUT_MS,
  });

  /** Begins a send, and leaves it at that. */
  async function begin(token: string, headers: string[], body: string | Buffer): Promise<{ answer: () => string }> {
    const socket = connect(api.port, '127.0.0.1');
    sockets.push(socket);
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    socket.on('error', () => {});
    await once(socket, 'connect');
    const head = [`POST ${BASE}/send HTTP/1.1`, 'Host: x', `Authorization: Bearer ${token}`, ...headers];
    socket.write(`${head.join('\r\n')}\r\nContent-Type: application/json\r\n\r\n`);
    socket.write(body);
    return { answer: () => received };
  }
  const held = async () => Number(/gateway_body_budget_held_bytes (\d+)/.exec(await api.metrics())?.[1]);

  it('is not taken by what is only announced: files and texts of others pass', async () => {
    const { value: token } = await api.newToken();
    for (let i = 0; i < 17; i++) await begin(token, ['Content-Length: 15728640'], '{"to":');
    await eventually(async () => (await held()) === 17 * 6);
    expect((await api.call('POST', '/send', { json: TEXT })).status).to.equal(202);
    expect((await api.call('POST', '/otp', { json: OTP })).status).to.equal(202);
    expect((await api.call('POST', '/send', { json: FILE })).status).to.equal(202);
  });

  it('is shared: a token holds a quarter at most, and its small requests pass nevertheless', async () => {
    const { value: token } = await api.newToken();
    const most = Buffer.alloc(12 * MEGABYTE, ' ');
    most.write('{"to":"447700900001","attachment":{"base64":"');
    most.fill('A', 45);
    for (const framing of ['Content-Length: 15728640', `Transfer-Encoding: chunked`]) {
      const body = framing.startsWith('C') ? most : Buffer.concat([Buffer.from('f00000\r\n'), most]);
      const { answer } = await begin(token, [framing], body);
      await eventually(async () => (await held()) >= 12 * MEGABYTE);
      const refused = await api.call('POST', '/send', { token, json: FILE });
      expect([refused.status, refused.body]).to.deep.equal([503, { success: false, error: 'Service unavailable' }]);
      expect(refused.headers.get('retry-after')).to.equal('1');
      expect((await api.call('POST', '/send', { token, json: { ...TEXT, text: 'x'.repeat(60_000) } })).status).to.equal(
        202,
      );
      expect((await api.call('POST', '/send', { json: FILE })).status, 'of another token').to.equal(202);
      expect(answer()).to.equal('');
      sockets.pop()!.destroy();
      await eventually(async () => (await held()) === 0);
    }
    expect((await api.call('POST', '/send', { token, json: FILE })).status).to.equal(202);
    expect(await api.metrics()).to.match(/gateway_body_budget_capacity_bytes 67108864/);
  });

  it('is given back by a body that comes too slowly: 408', async () => {
    const { value: token } = await api.newToken();
    const { answer } = await begin(token, ['Content-Length: 15728640'], '{"to":');
    await eventually(() => answer().includes('408 Request Timeout'), { timeoutMs: TIMEOUT_MS / 2 });
    expect(answer()).to.include('{"success":false,"error":"Request timeout"}').and.include('X-RateLimit-Remaining: 29');
    await eventually(async () => (await held()) === 0);
  });

  it('is held by a body for as long as it has brought 16 kB a second on average', async () => {
    const { value: token } = await api.newToken();
    const bringing = (seconds: number) =>
      begin(token, ['Content-Length: 15728640'], '{"to":'.padEnd(seconds * 16 * 1024));
    const startedAtMs = performance.now();
    const [slow, fast] = await Promise.all([bringing(1.5), bringing(60)]);
    await eventually(() => slow.answer().includes('408 Request Timeout'), { timeoutMs: TIMEOUT_MS / 2 });
    expect(performance.now() - startedAtMs).to.be.at.least(1_500);
    expect(fast.answer()).to.equal('');
    expect(await held()).to.equal(60 * 16 * 1024);
  });

  it('is held as long as any step needs it, though the caller is gone, and given back once', () => {
    const budget = new BodyBudget(64 * MEGABYTE);
    const account = budget.account('token');
    let freed = 0;
    account.onEnd(() => void freed++);
    const [endAnswer, endSteps] = [account.join(), account.join()];
    account.take(10 * MEGABYTE);
    endAnswer();
    endAnswer();
    expect([freed, budget.heldBytes]).to.deep.equal([0, 10 * MEGABYTE]);
    endSteps();
    expect([freed, budget.heldBytes]).to.deep.equal([1, 0]);
  });

  it('is given back by a request that is refused before its answer is out: others go on with it', () => {
    const budget = new BodyBudget(64 * MEGABYTE);
    const accounts = Array.from({ length: 10 }, (_, token) => budget.account(`t${token}`));
    for (const account of accounts) account.join();
    const takeMore = (account: (typeof accounts)[number]) => {
      try {
        account.take(MEGABYTE);
        return true;
      } catch {
        return false;
      }
    };
    let left = accounts;
    for (let piece = 0; piece < 13; piece++) left = left.filter(takeMore);
    expect(left, 'of ten that need 13 of 64 MB each').to.have.length(4);
  });

  it('has bounds for small bodies, too, of however many tokens; each has room for some, and for texts and codes', () => {
    const budget = new BodyBudget(256 * MEGABYTE);
    const take = (token: string, bytes: number) => {
      const account = budget.account(token);
      const end = account.join();
      account.take(bytes);
      return end;
    };
    const ends: (() => void)[] = [];
    let refused = 0;
    for (let request = 0; request < 30; request++) {
      for (let token = 0; token < 500; token++) {
        try {
          ends.push(take(`t${token}`, 63 * 1024));
        } catch (thrown) {
          expect(thrown).to.include({ status: 503 });
          refused++;
        }
      }
    }
    expect(refused).to.be.above(14_000);
    expect(budget.heldBytes, 'of 945 MB').to.be.at.most(24 * MEGABYTE);
    ends.push(take('another', 16 * 1024), take('t0', 4 * 1024));
    expect(() => take('another', 5 * 1024)).to.throw();
    expect(() => ends.push(take('another', 5 * MEGABYTE)), 'a file').not.to.throw();
    for (const end of ends) end();
    expect(budget.heldBytes).to.equal(0);
    take('t0', 63 * 1024);
  });

  it('never keeps small bodies waiting, nor loses one of many that are read in turn', async () => {
    const text = { ...TEXT, text: 'x'.repeat(60_000) };
    const tokens = await Promise.all(Array.from({ length: 10 }, () => api.newToken()));
    const answers = await Promise.all(
      tokens.flatMap(({ value: token }) =>
        Array.from({ length: 15 }, () => api.call('POST', '/send', { token, json: text })),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([202]));
  });
});
