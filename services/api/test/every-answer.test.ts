import { PassThrough } from 'node:stream';
import { buildOpenApi } from '@gateway/api/documents/build-openapi';
import { BASE_PATH, ENDPOINTS } from '@gateway/api/endpoints';
import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { RATE_LIMITS } from '@gateway/contracts/limits';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import { parseNetworks } from '@gateway/egress/address-rules';
import { createLogger } from '@gateway/runtime/logs/logger';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { takeAccount } from '@gateway/store/devices/take-account';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { answerContacts } from './support/answer-contacts.js';
import { acknowledgeSend, addSender, type DeviceOwner, linkDevice } from './support/device-owner.js';
import { checkAnswer } from './support/openapi-check.js';
import { exchange } from './support/raw-request.js';
import { SentFiles } from './support/sent-files.js';
import { BASE, startTestApi, type TestApi } from './support/test-api.js';

interface Operation {
  /** As in the document, by both methods of `/connect` the same. */
  id: string;
  method: string;
  path: string;
  /** Of a request that is well. */
  json: object | undefined;
}

const ALL_BUT_ADMIN = API_TOKEN_SCOPES.filter((scope) => scope !== 'admin');
const TEXT = { to: '447700900001', text: 'hello' };
const OTP = { phone: '447700900001', code: '482913' };
const BODIES: Record<string, object> = {
  sendMessage: TEXT,
  sendOtp: OTP,
  checkContacts: { phones: ['447700900001'] },
  addOptOuts: { phone: '447700900002' },
  createWebhook: { url: 'https://127.0.0.1:1/' },
  changeWebhook: { description: 'ours' },
  rotateWebhookSecret: {},
  replayWebhook: { after: '2026-01-01T00:00:00Z' },
};
const { paths } = buildOpenApi(ENDPOINTS, BASE_PATH);
const promised = ENDPOINTS.flatMap(({ path, methods, docs: { operationId: id } }) =>
  methods.flatMap((method) => {
    const { responses } = paths[path.replace(/:(\w+)/g, '{$1}')]![method]!;
    const operation: Operation = { id, method: method.toUpperCase(), path, json: BODIES[id] };
    return Object.keys(responses).map((status) => ({ operation, status: Number(status) }));
  }),
);

const webhookPolicy = { addresses: { allowed: parseNetworks('127.0.0.1/32') } };

/** Each answer that the document promises is provoked here; one that cannot be provoked is no promise to make. */
describe('every answer of the document', () => {
  let space: RedisSpace;
  let api: TestApi;
  /** Replicas that wait longer and hold no opt-outs, are in a hurry, or have no Redis. */
  let patient: TestApi;
  let hasty: TestApi;
  let lonely: TestApi;
  let device: DeviceAddress;
  let owner: DeviceOwner;
  let token: string;

  const files = new SentFiles();

  before(async () => {
    await files.start();
    space = await openRedisSpace();
    await addSender(space.store);
    // A 500 that is provoked here is logged to nowhere.
    const logger = createLogger({ service: 'api', level: 'error', destination: new PassThrough().resume() });
    api = await startTestApi(space, { logger, webhookPolicy, trustedProxies: 1, waits: { codeMs: 100, otpMs: 100 } });
    patient = await startTestApi(space, { maxOptOuts: 0 });
    hasty = await startTestApi(space, { requestTimeoutMs: 200 });
    lonely = await startTestApi(space, { redisUrl: 'redis://127.0.0.1:1', withoutRedis: true });
  });
  after(async () => {
    files.close();
    for (const each of [api, patient, hasty, lonely]) await each.close();
    await space.close();
  });
  beforeEach(async () => {
    device = { workspace: 'main', device: `device-${tests++}` };
    owner = await linkDevice(space.store, device);
    token = (await api.newToken({ device: device.device, scopes: ALL_BUT_ADMIN })).value;
  });
  let tests = 0;

  const messageId = async () => String((await api.call('POST', '/send', { token, json: TEXT })).body.messageId);
  const webhookId = async () =>
    String((await api.call('POST', '/webhooks', { token, json: BODIES.createWebhook! })).body.webhookId);
  const eventId = async () => {
    const optOuts = (await api.newToken({ scopes: ['opt-outs'] })).value;
    await api.call('GET', '/events', { token });
    await api.call('POST', '/opt-outs', { token: optOuts, json: { phone: '447700900004' } });
    const { events } = (await api.call('GET', '/events?after=0', { token })).body as { events: { id: string }[] };
    return events[0]!.id;
  };
  const call = async ({ method, path, json }: Operation, { query = '', target = api, headers = {} } = {}) => {
    const filled = path
      .replace(':messageId', path.includes('messageId') ? await messageId() : '')
      .replace(':webhookId', path.includes('webhookId') ? await webhookId() : '')
      .replace(':phone', '447700900001');
    return target.call(method, filled + query, { token, headers, ...(json && { json }) });
  };
  /** As bytes, since clients refuse to send a body with GET. */
  async function raw(
    { method, path }: Operation,
    { headers = [], query = '', target = api }: { headers?: string[]; query?: string; target?: TestApi },
  ): Promise<number> {
    const where = path.replace(/:\w+/, 'x');
    const head = [
      `${method} ${BASE}${where}${query} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${token}`,
      ...headers,
    ];
    const [answer] = await exchange(target.port, [`${head.join('\r\n')}\r\n\r\n`]);
    const { status, headers: received, body } = answer!;
    checkAnswer(method, where, { status, headers: received, body: JSON.parse(body) });
    return status;
  }
  const statusOf = async (answer: Promise<{ status: number }>) => (await answer).status;
  const JSON_BODY = ['Content-Type: application/json', 'Content-Length: 99'];

  /** Answers that every endpoint gives for the same reason. */
  const common: Record<number, (operation: Operation) => Promise<number>> = {
    400: (operation) => raw(operation, { query: '?nonsense=1' }),
    401: (operation) => {
      token = 'gw_wrong';
      // From an address of its own: each may be wrong 20 times a minute.
      return raw(operation, { headers: [`X-Forwarded-For: 192.0.2.${tests}`] });
    },
    403: async (operation) => {
      token = (await api.newToken({ scopes: ['admin'] })).value;
      return raw(operation, {});
    },
    408: (operation) => raw(operation, { headers: JSON_BODY, target: hasty }),
    413: (operation) => raw(operation, { headers: ['Content-Type: application/json', 'Content-Length: 99999999'] }),
    415: (operation) => raw(operation, { headers: ['Content-Type: text/plain', 'Content-Length: 99'] }),
    429: async ({ method, path }) => {
      const { bucket } = ENDPOINTS.find((each) => each.path === path)!;
      const ask = () => statusOf(api.call(method, `${path.replace(/:\w+/, 'x')}?nonsense=1`, { token }));
      const statuses = await Promise.all(Array.from({ length: RATE_LIMITS[bucket] + 1 }, ask));
      // One is beyond the limit, whichever came last to where they are counted.
      const [refused, ...others] = statuses.filter((status) => status !== 400);
      expect(others).to.deep.equal([]);
      return refused!;
    },
    431: (operation) => raw(operation, { headers: [`X: ${'x'.repeat(17_000)}`] }),
    500: async (operation) => {
      const { defaultDevice } = workspaceKeys(space.store.space, 'main');
      const path = operation.path.replace(':messageId', 'msg_x');
      token = (await api.newToken({ scopes: ALL_BUT_ADMIN })).value;
      await space.clients.commands.sadd(defaultDevice, 'not what anybody expects here');
      const status = await statusOf(call({ ...operation, path }));
      await space.clients.commands.del(defaultDevice);
      return status;
    },
    503: (operation) => raw(operation, { target: lonely }),
  };

  const receiveFile = () => files.receive(space.store, owner.ownership, Buffer.from('{}'));
  const expiredFile = async () => {
    const path = `/media/${await receiveFile()}`;
    files.store.expire({ areForgotten: true });
    return path;
  };
  const unlink = () => owner.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
  const otherRequest = async (operation: Operation) => {
    const headers = { 'idempotency-key': 'k' };
    await call(operation, { headers });
    return statusOf(
      call(
        {
          ...operation,
          json: { ...operation.json, ...(operation.id === 'sendOtp' ? { code: '1111' } : { text: 'bye' }) },
        },
        { headers },
      ),
    );
  };
  /** Answers that only some endpoints give, or each for a reason of its own. */
  const own: Record<string, Record<number, (operation: Operation) => Promise<number>>> = {
    connectDevice: {
      409: async (operation) => {
        await unlink();
        const answer = call(operation, { target: patient });
        await eventually(async () => (await readDeviceState(space.store, device)).desired?.want === 'linking');
        await owner.observe({ status: 'disconnected', reason: 'link_refused' }, 'unlinked');
        return statusOf(answer);
      },
      422: async (operation) => {
        await setWorkspaceLimits(space.store, 'main', { devices: 0 });
        token = (await api.newToken({ device: `${device.device}-2` })).value;
        const status = await statusOf(call(operation));
        await setWorkspaceLimits(space.store, 'main', { devices: undefined });
        return status;
      },
      504: async (operation) => {
        await unlink();
        return statusOf(call(operation));
      },
    },
    checkContacts: {
      200: async (operation) => {
        const sender = await answerContacts(space, owner, () => ({ onMessenger: true, hasConversation: false }));
        const status = await statusOf(call(operation));
        sender.close();
        return status;
      },
      409: (operation) => unlink().then(() => statusOf(call(operation))),
    },
    addOptOuts: {
      422: (operation) => statusOf(call({ ...operation, json: { phone: '447700900003' } }, { target: patient })),
    },
    disconnectDevice: { 200: (operation) => unlink().then(() => statusOf(call(operation))) },
    sendMessage: { 409: (operation) => unlink().then(() => statusOf(call(operation))), 422: otherRequest },
    sendOtp: {
      200: async (operation) => {
        const answer = call(operation, { target: patient });
        await acknowledgeSend(
          space.store,
          owner,
          await eventually(async () => (await listOpenSends(space.store, device))[0]),
        );
        return statusOf(answer);
      },
      409: (operation) => unlink().then(() => statusOf(call(operation))),
      422: otherRequest,
    },
    showMedia: {
      200: async (operation) => statusOf(call({ ...operation, path: `/media/${await receiveFile()}` })),
      404: (operation) => statusOf(call({ ...operation, path: '/media/med_x' })),
      409: async (operation) => {
        const path = await expiredFile();
        await unlink();
        return statusOf(call({ ...operation, path }));
      },
      410: async (operation) => {
        const path = await expiredFile();
        await takeAccount(space.store, owner.ownership, { phone: '447700900999', nowMs: Date.now() });
        return statusOf(call({ ...operation, path }));
      },
    },
    showMessage: { 404: (operation) => statusOf(call({ ...operation, path: '/messages/msg_x' })) },
    cancelMessage: { 404: (operation) => statusOf(call({ ...operation, path: '/messages/msg_x' })) },
    streamEvents: {
      200: async () => {
        const gone = new AbortController();
        const { status, headers } = await fetch(`${api.origin}${BASE}/events/stream`, {
          headers: { authorization: `Bearer ${token}` },
          signal: gone.signal,
        });
        checkAnswer('GET', '/events/stream', { status, headers, body: '' });
        gone.abort();
        return status;
      },
      403: async (operation) => {
        token = (await api.newToken({ scopes: ['read'] })).value;
        return statusOf(call(operation));
      },
      410: async (operation) => {
        await call({ ...operation, path: '/events' });
        return statusOf(call({ ...operation, path: '/events/stream?after=1-1' }));
      },
    },
    listEvents: {
      403: async (operation) => {
        token = (await api.newToken({ scopes: ['read'] })).value;
        return statusOf(call(operation));
      },
      410: async (operation) => {
        await call(operation);
        return statusOf(call({ ...operation, path: '/events?after=1-1' }));
      },
    },
    showEvent: {
      200: async (operation) => statusOf(call({ ...operation, path: `/events/${await eventId()}` })),
      403: async (operation) => {
        token = (await api.newToken({ scopes: ['read'] })).value;
        return statusOf(call(operation));
      },
      404: (operation) => statusOf(call({ ...operation, path: '/events/evt_x' })),
      410: async (operation) => {
        await call({ ...operation, path: '/events' });
        return statusOf(call({ ...operation, path: '/events/evt_main_1_connected' }));
      },
    },
    showOptOut: { 404: (operation) => statusOf(call({ ...operation, path: '/opt-outs/%ff' })) },
    createWebhook: {
      422: async (operation) => {
        const { webhooks } = workspaceKeys(space.store.space, 'main');
        await space.clients.commands.sadd(webhooks, ...Array(WEBHOOK_LIMITS.maxPerWorkspace).keys());
        const status = await statusOf(call(operation));
        await space.clients.commands.del(webhooks);
        return status;
      },
    },
    ...Object.fromEntries(
      [
        'showWebhook',
        'changeWebhook',
        'testWebhook',
        'rotateWebhookSecret',
        'pauseWebhook',
        'resumeWebhook',
        'listWebhookDeliveries',
        'listParkedEvents',
      ].map((id) => [
        id,
        {
          404: (operation: Operation) =>
            statusOf(call({ ...operation, path: operation.path.replace(':webhookId', 'wh_x') })),
        },
      ]),
    ),
    replayWebhook: {
      404: (operation) => statusOf(call({ ...operation, path: '/webhooks/wh_x/replay' })),
      422: async (operation) => {
        const path = operation.path.replace(':webhookId', await webhookId());
        const { webhookReplays } = workspaceKeys(space.store.space, 'main');
        const waiting = Array.from({ length: WEBHOOK_LIMITS.maxReplays }, (_, n) => JSON.stringify({ id: `${n}` }));
        await space.clients.commands.rpush(webhookReplays(path.split('/')[2]!), ...waiting);
        return statusOf(call({ ...operation, path }));
      },
    },
    deleteWebhook: { 404: (operation) => statusOf(call({ ...operation, path: '/webhooks/%ff' })) },
    removeOptOut: { 404: (operation) => statusOf(call({ ...operation, path: '/opt-outs/%ff' })) },
  };
  const succeed = (operation: Operation) => statusOf(call(operation));

  for (const { operation, status } of promised) {
    const { id, method, path } = operation;
    const { scope, ofWorkspace: isOfWorkspace } = ENDPOINTS.find(({ docs }) => docs.operationId === id)!;
    it(`${status} of ${method} ${path}`, async () => {
      const provoke = own[id]?.[status] ?? (status < 300 ? succeed : common[status]);
      if (scope === 'events') token = (await api.newToken({ scopes: ['events'] })).value;
      if (isOfWorkspace) token = (await api.newToken({ scopes: ALL_BUT_ADMIN })).value;
      expect(provoke, 'it cannot be provoked').to.be.a('function');
      expect(await provoke!(operation)).to.equal(status);
    });
  }
});
