import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Turns } from '@gateway/api/http/turns';
import { LIMITS } from '@gateway/contracts/limits';
import { parseNetworks } from '@gateway/egress/address-rules';
import { takeAccount } from '@gateway/store/devices/take-account';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { DEFAULT, type DeviceOwner, linkDevice } from './support/device-owner.js';
import { startTestApi, type TestApi } from './support/test-api.js';

describe('slow URLs of one token', () => {
  let space: RedisSpace;
  let api: TestApi;
  let owner: DeviceOwner;
  let files: Server;
  let asked: IncomingMessage[];
  let serve: RequestListener;
  let url: string;

  before(async () => {
    files = createServer((req, res) => {
      asked.push(req);
      serve(req, res);
    });
    await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(files.address() as AddressInfo).port}/file`;
  });
  after(() => files.close());
  beforeEach(async () => {
    asked = [];
    space = await openRedisSpace();
    api = await startTestApi(space, {
      fetchPolicy: { ports: [Number(new URL(url).port)], addresses: { allowed: parseNetworks('127.0.0.1/32') } },
    });
    owner = await linkDevice(space.store);
  });
  afterEach(async () => {
    await api.close();
    await space.close();
  });

  const send = (attachment: object, token: string) =>
    api.call('POST', '/send', { json: { to: '447700900001', attachment }, token });

  it('take no room from others: neither for files inside a request nor behind a URL', async () => {
    serve = (_req, res) =>
      res.writeHead(200, { 'content-length': LIMITS.maxAttachmentBytes }).write(Buffer.alloc(1_000));
    const slow = Array.from({ length: 25 }, () => send({ type: 'document', url }, api.token));
    await eventually(() => expect(asked).to.have.length(LIMITS.attachmentFetchesPerToken));
    const { value: other } = await api.newToken();
    const document = { type: 'document', base64: Buffer.alloc(5 * 1024 * 1024, 'x').toString('base64') };
    expect((await send(document, other)).status).to.equal(202);
    serve = (_req, res) => res.end('a file of another token');
    expect((await send({ type: 'document', url }, other)).status).to.equal(202);
    serve = (_req, res) => res.end('at last');
    for (const { socket } of asked) socket.destroy();
    const statuses = (await Promise.all(slow)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 400)).to.have.length(LIMITS.attachmentFetchesPerToken);
    expect(statuses.filter((status) => status === 202)).to.have.length(25 - LIMITS.attachmentFetchesPerToken);
  });

  it('send nothing from another account than the one that was linked when they were asked for', async () => {
    const take = (phone: string) => takeAccount(space.store, owner.ownership, { phone, nowMs: Date.now() });
    await take('447700900123');
    const late: (() => void)[] = [];
    serve = (_req, res) => late.push(() => res.end('at last'));
    const answers = [send({ type: 'document', url }, api.token), send({ type: 'document', url }, api.token)];
    await eventually(() => expect(late).to.have.length(2));
    expect(await take('447700900123'), 'the same account').to.deep.equal({ isOther: false });
    late[0]!();
    expect((await Promise.race(answers)).status).to.equal(202);
    expect(await take('447700900124')).to.deep.equal({ isOther: true });
    late[1]!();
    const refused = (await Promise.all(answers)).filter(({ status }) => status !== 202);
    expect(refused.map(({ status, body }) => [status, body.error])).to.deep.equal([
      [409, 'No connected messenger device found'],
    ]);
    expect(await listOpenSends(space.store, DEFAULT)).to.deep.equal([]);
  });

  it('take no more of the memory than a token may, and as much as has come', async () => {
    serve = (_req, res) => res.writeHead(200).write(Buffer.alloc(9 * 1024 * 1024));
    const first = send({ type: 'document', url }, api.token);
    const heldBytes = async () => Number(/_body_budget_held_bytes (\d+)/.exec(await api.metrics())![1]);
    await eventually(async () => (await heldBytes()) > 9 * 1024 * 1024);
    expect((await send({ type: 'document', url }, api.token)).status, 'a quarter of 64 MiB').to.equal(503);
    asked[0]!.socket.destroy();
    expect((await first).status).to.equal(400);
    await eventually(async () => (await heldBytes()) === 0);
  });

  it('wait for each other only, in their order, and not for ever', async () => {
    const turns = new Turns(1);
    const never = new AbortController().signal;
    const end = await turns.take('a', 5_000, never);
    expect(await turns.take('b', 0, never), 'another caller').to.be.a('function');
    expect(await turns.take('a', 10, never), 'its time is over').to.equal(undefined);
    const gone = new AbortController();
    const second = turns.take('a', 5_000, gone.signal);
    const third = turns.take('a', 5_000, never);
    gone.abort();
    expect(await second, 'its caller is gone').to.equal(undefined);
    end!();
    const endThird = await third;
    expect(endThird).to.be.a('function');
    endThird!();
    expect(await turns.take('a', 0, never)).to.be.a('function');
  });
});
