import { buildOpenApi } from '@gateway/api/documents/build-openapi';
import { BASE_PATH, ENDPOINTS } from '@gateway/api/endpoints';
import { RedisHeadroom } from '@gateway/api/sends/redis-headroom';
import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import { DEFAULT_WORKSPACE, type Workspace } from '@gateway/contracts/ids';
import { parseNetworks } from '@gateway/egress/address-rules';
import { systemClock } from '@gateway/runtime/clock';
import { masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { readCapacity } from '@gateway/store/core/capacity';
import { takeBacklog } from '@gateway/store/limits/take-backlog';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { monitor } from '@gateway/testkit/redis-servers/monitor';
import { namesWorkspace } from '@gateway/testkit/redis-servers/names-workspace';
import { makePdf } from '@gateway/testkit/sample-files';
import { expect } from 'chai';
import { answerContacts } from './support/answer-contacts.js';
import { acknowledgeAll, linkDevice } from './support/device-owner.js';
import { SentFiles } from './support/sent-files.js';
import type { Answer, CallOptions } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const PHONE = '447700900001';
const FILE = makePdf().toString('base64');
const ACCOUNTS: Record<Workspace, string> = { [DEFAULT_WORKSPACE]: '447700900901', other: '447700900902' };

/** How a list is asked to go on. */
const PLACE_IN: Record<string, string> = { '/opt-outs': 'cursor', '/messages': 'after', '/events': 'after' };

/** The last word that a server is watched for. */
const END = 'the-end';

type Request = readonly [operation: string, request: string, options?: CallOptions];

/** All that a caller does; `MESSAGE_ID` stands for the message that was sent last, and so on. */
const USE: readonly Request[] = [
  ['connectDeviceByPost', 'POST /connect'],
  ['connectDeviceByGet', 'GET /connect'],
  ['listOptOuts', 'GET /opt-outs'],
  ['addOptOuts', 'POST /opt-outs', { json: { phone: [PHONE, '447700900002'] } }],
  ['listOptOuts', 'GET /opt-outs?limit=1'],
  ['showOptOut', `GET /opt-outs/${PHONE}`],
  ['removeOptOut', `DELETE /opt-outs/${PHONE}`],
  ['checkContacts', 'POST /contacts/check', { json: { phones: [PHONE, '447700900002'] } }],
  ['sendOtp', 'POST /otp', { json: { phone: PHONE, code: '482913' }, headers: { 'idempotency-key': 'otp' } }],
  ['sendMessage', 'POST /send', { json: { to: PHONE, text: 'hello' }, headers: { 'idempotency-key': 'send' } }],
  ['cancelMessage', 'DELETE /messages/MESSAGE_ID'],
  ['sendMessage', 'POST /send', { json: { to: PHONE, attachment: { type: 'document', base64: FILE } } }],
  ['sendMessage', 'POST /send', { json: { to: PHONE, text: 'an answer', existingMessageId: 'MESSAGE_ID' } }],
  ['listEvents', 'GET /events'],
  ['addOptOuts', 'POST /opt-outs', { json: { phone: '447700900003' } }],
  ['listEvents', 'GET /events?after=0'],
  ['showEvent', 'GET /events/EVENT_ID'],
  ['showMedia', 'GET /media/MEDIA_ID'],
  ['createWebhook', 'POST /webhooks', { json: { url: 'https://127.0.0.1:1/' } }],
  ['changeWebhook', 'PATCH /webhooks/WEBHOOK_ID', { json: { description: 'ours' } }],
  ['testWebhook', 'POST /webhooks/WEBHOOK_ID/test'],
  ['rotateWebhookSecret', 'POST /webhooks/WEBHOOK_ID/rotate', { json: {} }],
  ['pauseWebhook', 'POST /webhooks/WEBHOOK_ID/pause'],
  ['resumeWebhook', 'POST /webhooks/WEBHOOK_ID/resume'],
  ['replayWebhook', 'POST /webhooks/WEBHOOK_ID/replay', { json: { after: '2026-01-01T00:00:00Z' } }],
];
const LOOK: readonly Request[] = [
  // One that ends at once: it reads as GET /events does.
  ['streamEvents', 'GET /events/stream?after=x'],
  ['showStatus', 'GET /status'],
  ['listOptOuts', 'GET /opt-outs'],
  ['showMessage', 'GET /messages/MESSAGE_ID'],
  ['listMessages', 'GET /messages'],
  ['listMessages', 'GET /messages?limit=1&device=default'],
  ['listDevices', 'GET /devices'],
  ['listWebhooks', 'GET /webhooks'],
  ['showWebhook', 'GET /webhooks/WEBHOOK_ID'],
  ['listWebhookDeliveries', 'GET /webhooks/WEBHOOK_ID/deliveries'],
  ['listParkedEvents', 'GET /webhooks/WEBHOOK_ID/parked'],
];
const LEAVE: readonly Request[] = [
  ['deleteWebhook', 'DELETE /webhooks/WEBHOOK_ID'],
  ['showStatus', 'GET /status'],
  ['disconnectDevice', 'POST /disconnect'],
  ['showStatus', 'GET /status'],
];

describe('two workspaces with devices, people, keys and files of the same names', () => {
  // To know how full Redis is, an API reads what all workspaces have: here before the keys of one are watched.
  let capacity: ReturnType<typeof readCapacity> | undefined;
  const readOnce = () => (capacity ??= readCapacity(space.store, undefined, Object.keys(ACCOUNTS)));
  const { space, api } = useTestApi({
    once: true,
    headroom: new RedisHeadroom(readOnce, systemClock, (use) => takeBacklog(space.store, use)),
    waits: { logoutMs: 20, otpMs: 10_000, takenMs: 10_000 },
    webhookPolicy: { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
  });
  const files = new SentFiles();
  before(() => files.start());
  after(() => files.close());

  /** A caller whose device is linked. */
  async function open(workspace: Workspace) {
    const { value: token } = await createApiToken(space.store, workspace, { name: 'test', scopes: API_TOKEN_SCOPES });
    const owner = await linkDevice(space.store, { workspace, device: 'default' });
    await owner.observe({ status: 'connected', phone: ACCOUNTS[workspace]!, name: workspace }, 'linked');
    const messageIds: string[] = [];
    /** Where its lists go on. */
    const places: string[] = [];
    const mediaId = await files.receive(space.store, owner.ownership, Buffer.from(`"a file for ${workspace}"`));
    const ids: Record<string, string> = { MEDIA_ID: mediaId };
    const withId = (text: string) => text.replace(/[A-Z]+_ID/g, (name) => ids[name] ?? name);

    async function ask([operation, request, options]: Request): Promise<Answer> {
      const [method, path] = request.split(' ') as [string, string];
      const json = options?.json !== undefined && { json: JSON.parse(withId(JSON.stringify(options.json))) };
      const stop = operation === 'sendOtp' && acknowledgeAll(space.store, owner);
      const answer = await api.call(method, withId(path), { ...options, token, ...json });
      if (stop) await stop();
      if (typeof answer.body.messageId === 'string') messageIds.push(answer.body.messageId);
      ids.MESSAGE_ID = messageIds.at(-1) ?? '';
      const [event] = (answer.body.events ?? []) as { id: string }[];
      if (event) ids.EVENT_ID = event.id;
      if (typeof answer.body.webhookId === 'string') ids.WEBHOOK_ID = answer.body.webhookId;
      const [list] = path.split('?') as [string];
      if (answer.body.nextCursor) places.push(`${list}?${PLACE_IN[list]}=${String(answer.body.nextCursor)}`);
      return answer;
    }

    /** What it is told, without what is made up or goes on by itself, and its own names. */
    async function tell(requests: readonly Request[]) {
      const told: Record<'request' | 'status' | 'remaining' | 'replayed' | 'body', unknown>[] = [];
      for (const each of requests) {
        const { status, headers, body } = await ask(each);
        const text = JSON.stringify(body)
          .replace(/"(msg_|3EB0|med_|wh_|evt_|whsec_)[\w+/=-]+"/g, '"id"')
          .replace(/"tookMs":\d+/g, '"tookMs":0')
          .replace(/"nextCursor":"[\w-]+"/g, '"nextCursor":"place"')
          .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
          .replaceAll(ACCOUNTS[workspace]!, 'account')
          .replaceAll(`"name":"${workspace}"`, '"name":"name"')
          .replaceAll(`a file for ${workspace}`, 'a file');
        const [remaining, replayed] = ['x-ratelimit-remaining', 'idempotency-replayed'].map((name) =>
          headers.get(name),
        );
        told.push({ request: each[1], status, remaining, replayed, body: text });
      }
      return told;
    }
    const sender = await answerContacts(space, owner, () => ({ onMessenger: true, hasConversation: false }));
    return { token, tell, messageIds, ids, places, close: () => sender.close() };
  }

  /** All commands from now on, those of scripts too, in which this workspace is named. */
  async function watchFor(workspace: Workspace) {
    const isNamed = namesWorkspace(space.store.space, workspace);
    const nodes = masterNodes(space.store.redis);
    const named: string[][] = [];
    let [seen, ends] = [0, 0];
    const monitors = await Promise.all(
      nodes.map((node) =>
        monitor(node, (words) => {
          seen++;
          if (words.includes(END)) ends++;
          if (isNamed(words)) named.push(words);
        }),
      ),
    );
    async function end() {
      await Promise.all(nodes.map((node) => node.echo(END)));
      await eventually(() => ends === nodes.length);
      for (const { close } of monitors) close();
      return { named, seen };
    }
    return { named, end };
  }

  it('answers each as if the other were not there, from every endpoint', async () => {
    const document = buildOpenApi(ENDPOINTS, BASE_PATH);
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    const asked = [...USE, ...LOOK, ...LEAVE].map(([operation]) => operation);
    expect(asked, 'each is asked').to.include.members(operations.map(({ operationId }) => operationId));
    const [one, other] = [await open(DEFAULT_WORKSPACE), await open('other')];

    const touchedFirst = await watchFor(DEFAULT_WORKSPACE);
    const used = await one.tell(USE);
    expect(used.filter(({ status, replayed }) => Number(status) > 202 || replayed)).to.deep.equal([]);
    const looked = await one.tell(LOOK);
    // No answer waits until the owner of its device is woken.
    const isWoken = (id: string) => touchedFirst.named.flat().some((word) => word.includes(`"messageId":"${id}"`));
    await eventually(() => one.messageIds.every(isWoken));
    await touchedFirst.end();
    const touched = await watchFor(DEFAULT_WORKSPACE);
    expect(await other.tell(USE)).to.deep.equal(used);
    expect(await other.tell(LOOK)).to.deep.equal(looked);
    const bodies = (told: readonly { body: unknown }[]) => told.map(({ body }) => body);
    // What is known of the other workspace is worth as much as nothing: each operation that takes an id answers as for none.
    const strange = [...USE, ...LOOK, ...LEAVE].filter(([, request, options]) =>
      /_ID/.test(request + JSON.stringify(options)),
    );
    const withParameter = Object.entries(document.paths).filter(([path]) => /\{(messageId|webhookId|id)\}/.test(path));
    const operationsWithId = withParameter.flatMap(([, path]) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(strange.map(([operation]) => operation)).to.include.members(operationsWithId);
    for (const [operation, request, options] of strange) {
      const [method, path] = request.split(' ') as [string, string];
      const name = /[A-Z]+_ID/.exec(request + JSON.stringify(options))![0];
      const nothing = one.ids[name]!.replace(/.{3}$/, (end) => (end === '000' ? '111' : '000'));
      for (const id of name === 'MESSAGE_ID' ? one.messageIds : [one.ids[name]!]) {
        const askFor = (id: string) =>
          api.call(method, path.replace(name, id), {
            ...{ ...options, token: other.token },
            ...(options?.json !== undefined && { json: JSON.parse(JSON.stringify(options.json).replace(name, id)) }),
          });
        const [theirs, none] = [await askFor(id), await askFor(nothing)];
        // To delete an endpoint that is not there is no failure.
        expect(theirs.status, request).to.equal(operation === 'deleteWebhook' ? 200 : path.includes(name) ? 404 : 400);
        const bodyOf = ({ body }: Answer, asked: string) => JSON.stringify(body).replace(asked, 'id');
        expect([theirs.status, bodyOf(theirs, id)], request).to.deep.equal([none.status, bodyOf(none, nothing)]);
      }
    }
    expect(new Set(one.places.map((place) => place.split('?')[0]))).to.deep.equal(new Set(Object.keys(PLACE_IN)));
    for (const place of one.places) {
      const { status, body } = await api.call('GET', place, { token: other.token });
      expect(status, place).to.be.oneOf([200, 410]);
      for (const own of [...one.messageIds, ...Object.values(one.ids), ACCOUNTS[DEFAULT_WORKSPACE]!])
        expect(JSON.stringify(body), place).not.to.include(own);
    }
    const isUnnamed = ({ named, seen }: { named: string[][]; seen: number }, asked: readonly unknown[]) => {
      const commands = named.map((words) => words.join(' ').slice(0, 300));
      expect(commands, `commands that name it while the other asks: ${commands.join('; ')}`).to.deep.equal([]);
      expect(seen).to.be.above(asked.length);
    };
    isUnnamed(await touched.end(), strange);
    expect(bodies(await one.tell(LOOK)), 'what it sees afterwards').to.deep.equal(bodies(looked));
    const left = bodies(await one.tell(LEAVE));
    const touchedLast = await watchFor(DEFAULT_WORKSPACE);
    expect(bodies(await other.tell(LEAVE))).to.deep.equal(left);
    isUnnamed(await touchedLast.end(), LEAVE);
    for (const { close } of [one, other]) close();
  });

  it('are told apart where tokens of both devices ask in one moment', async () => {
    const workspaces = ['third', 'fourth'];
    const tokens = await Promise.all(
      workspaces.map(async (workspace) => {
        const owner = await linkDevice(space.store, { workspace, device: 'shop' });
        await owner.observe({ status: 'connected', phone: PHONE, name: workspace }, 'linked');
        return (await createApiToken(space.store, workspace, { name: 'test', device: 'shop' })).value;
      }),
    );
    const answers = await Promise.all(tokens.map((token) => api.call('GET', '/status', { token })));
    expect(answers.map(({ body }) => body.name)).to.deep.equal(workspaces);
  });

  it('are no label of a metric', async () => {
    const { value } = await createApiToken(space.store, 'tenant-b', { name: 'test' });
    expect((await api.call('GET', '/status', { token: value })).status).to.equal(200);
    // What a metric means may speak of workspaces.
    const samples = (await api.metrics()).replaceAll(/^#.*$/gm, '');
    expect(samples)
      .to.include('http_request')
      .and.not.match(/workspace|tenant-b/);
  });
});
