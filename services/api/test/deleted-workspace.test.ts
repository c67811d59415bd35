import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import { parseNetworks } from '@gateway/egress/address-rules';
import { takeAccount } from '@gateway/store/devices/take-account';
import { deleteWorkspace, findWorkspace } from '@gateway/store/workspace/delete-workspace';
import { addOptOuts, findOptOut } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { answerContacts } from './support/answer-contacts.js';
import { addSender, linkDevice } from './support/device-owner.js';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const PHONE = '447700900001';
const FILE = Buffer.from('a file').toString('base64');
/** Of some, the step with which each writes first, and how it is answered when that comes too late. */
const LATE: readonly [path: string, body: object, step: string, status: number][] = [
  ['/disconnect', {}, 'request-unlink', 401],
  ['/send', { to: PHONE, text: 'hello' }, 'accept-send', 409],
  ['/send', { to: PHONE, attachment: { type: 'document', base64: FILE } }, 'reserve-blob', 401],
  ['/otp', { phone: PHONE, code: '123456' }, 'accept-send', 409],
  ['/connect?forceNew=true', {}, 'list-device', 401],
  ['/opt-outs', { phone: PHONE }, 'add-opt-outs', 401],
  ['/webhooks', { url: 'http://127.0.0.1:1/' }, 'want-events', 401],
  ['/webhooks', { url: 'http://127.0.0.1:1/' }, 'create-webhook', 401],
  ['/send', { to: PHONE, text: 'hello' }, 'count-token', 401],
  ['/send', { to: PHONE, text: 'hello' }, 'place-repeat', 401],
  ['/send', { to: PHONE, text: 'hello' }, 'take-backlog', 409],
  ['/contacts/check', { phones: [PHONE] }, 'ask-owner', 401],
];
/** All that may write where nothing is. */
const REQUESTS: readonly [path: string, body: object][] = [
  ['/send', { to: PHONE, text: 'hello' }],
  ['/send', { to: PHONE, attachment: { type: 'document', base64: FILE } }],
  ['/otp', { phone: PHONE, code: '123456' }],
  ['/contacts/check', { phones: [PHONE] }],
  ['/connect', {}],
  ['/opt-outs', { phone: PHONE }],
  ['/webhooks', { url: 'http://127.0.0.1:1/' }],
];

/** All that wait for it go on at once. */
class Gate {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

describe('requests of a workspace that is deleted while they come', () => {
  const ports: number[] = [];
  const addresses = { allowed: parseNetworks('127.0.0.1/32') };
  const { space, api } = useTestApi({
    ...{ fetchPolicy: { ports, addresses }, webhookPolicy: { isSecure: true, addresses } },
    waits: { bodyMs: 30_000 },
  });
  let files: Server;
  let token: string;
  const asked: ServerResponse[] = [];

  before(async () => {
    files = createServer((_req, res) => asked.push(res)).listen(0, '127.0.0.1');
    await once(files, 'listening');
    ports.push((files.address() as AddressInfo).port);
  });
  after(() => files.close());

  /** Answers how to send its body, which resolves with the answer. */
  async function begin([path, json]: (typeof REQUESTS)[number]): Promise<() => Promise<string>> {
    const body = JSON.stringify(json);
    const socket = connect(api.port, '127.0.0.1').setEncoding('utf8');
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    const head = [`POST ${BASE}${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${token}`, 'Connection: close'];
    head.push('Content-Type: application/json', `Content-Length: ${body.length}`, 'Expect: 100-continue');
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    await eventually(() => received.includes('100 Continue'));
    return async () => {
      socket.write(body);
      await once(socket, 'close');
      return received;
    };
  }

  for (const [path, json, step, status] of LATE) {
    it(`are refused by the step that writes (POST ${path}, ${step}, ${status}), and leave nothing for the next of its name`, async () => {
      const shop = { workspace: 'shop', device: 'default' };
      await linkDevice(space.store, shop);
      await setWorkspaceLimits(space.store, 'shop', { backlog: 10 });
      const sender = await addSender(space.store);
      token = (await createApiToken(space.store, 'shop', { name: 'test', scopes: API_TOKEN_SCOPES })).value;
      const { run } = api.store;
      // As if the process stood still in this moment.
      api.store.run = async (name, keys, args) => {
        if (name === step) await deleteWorkspace(space.store, 'shop', { logoutMs: 0, closingMs: 0 });
        return run(name, keys, args);
      };
      try {
        const headers = { 'Idempotency-Key': 'order-1' };
        expect((await api.call('POST', path, { token, json, headers })).status).to.equal(status);
      } finally {
        api.store.run = run;
      }
      const { found } = await findWorkspace(space.store, 'shop', { withName: true });
      expect(found).to.deep.equal({ keys: [], entries: [] });
      await sender.leave();
    });
  }

  it('are shown nothing of the next one of its name, where the process stood still until that was there', async () => {
    const { store } = space;
    const shop = { workspace: 'shop', device: 'default' };
    token = (await createApiToken(store, 'shop', { name: 'test', scopes: API_TOKEN_SCOPES })).value;
    const { redis } = api.store;
    const read = redis.get.bind(redis);
    let waiting = 0;
    const stands = new Gate();
    redis.get = (async (key: string) => {
      waiting++;
      await stands.opened;
      return read(key);
    }) as typeof redis.get;
    try {
      const paths = ['/status', '/devices', '/messages', '/opt-outs', '/webhooks', '/events'];
      const asking = paths.map((path) => api.call('GET', path, { token }));
      await eventually(() => waiting === paths.length);
      await deleteWorkspace(store, 'shop', { logoutMs: 0 });
      await createWorkspace(store, 'shop');
      await linkDevice(store, shop);
      await addOptOuts(store, 'shop', { numbers: [PHONE], source: 'api', atMs: Date.now() });
      stands.open();
      const answers = await Promise.all(asking);
      expect(answers.map(({ status }) => status)).to.deep.equal(paths.map(() => 401));
    } finally {
      redis.get = read;
    }
  });

  for (const [method, path, json, step] of [
    ['DELETE', `/opt-outs/${PHONE}`, undefined, 'remove-opt-out'],
    ['POST', '/contacts/check', { phones: [PHONE] }, 'read-device-state'],
  ] as const) {
    it(`change and tell nothing of the next one of its name, where the process stood still until that was there (${method} ${path})`, async () => {
      const { store } = space;
      const shop = { workspace: 'shop', device: 'default' };
      await createWorkspace(store, 'shop');
      await linkDevice(store, shop);
      await addOptOuts(store, 'shop', { numbers: [PHONE], source: 'api', atMs: Date.now() });
      token = (await createApiToken(store, 'shop', { name: 'test', scopes: API_TOKEN_SCOPES })).value;
      const { run } = api.store;
      api.store.run = async (name, keys, args) => {
        if (name !== step) return run(name, keys, args);
        api.store.run = run;
        await deleteWorkspace(store, 'shop', { logoutMs: 0 });
        await createWorkspace(store, 'shop');
        const owner = await linkDevice(store, shop);
        await answerContacts(space, owner, () => ({ onMessenger: true, hasConversation: true }));
        await addOptOuts(store, 'shop', { numbers: [PHONE], source: 'reply', atMs: Date.now() });
        return run(name, keys, args);
      };
      try {
        expect((await api.call(method, path, { token, ...(json && { json }) })).status).to.equal(401);
      } finally {
        api.store.run = run;
      }
      expect(await findOptOut(store, 'shop', PHONE)).to.include({ source: 'reply' });
    });
  }

  it('are answered like those of an unknown token, and leave nothing behind', async () => {
    const shop = { workspace: 'shop', device: 'default' };
    const owner = await linkDevice(space.store, shop);
    await takeAccount(space.store, owner.ownership, { phone: '447700900123', nowMs: Date.now() });
    const sender = await addSender(space.store);
    token = (await createApiToken(space.store, 'shop', { name: 'test', scopes: API_TOKEN_SCOPES })).value;
    const url = `http://127.0.0.1:${ports[0]}/file`;
    const fetching = api.call('POST', '/send', { token, json: { to: PHONE, attachment: { type: 'document', url } } });
    const ends = await Promise.all(REQUESTS.map(begin));
    await eventually(() => asked.length > 0);
    await deleteWorkspace(space.store, 'shop', { logoutMs: 0 });
    asked[0]!.end('a file');
    for (const answer of await Promise.all(ends.map((end) => end()))) {
      expect(answer)
        .to.match(/\r\n\r\nHTTP\/1\.1 401 /)
        .and.not.match(/x-ratelimit/i);
    }
    expect((await fetching).status).to.equal(401);
    const { found } = await findWorkspace(space.store, 'shop', { withName: true });
    expect(found).to.deep.equal({ keys: [], entries: [] });
    await sender.leave();
  });
});
