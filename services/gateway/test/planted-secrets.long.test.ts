import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { GatewayEvent } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { createLogger } from '@gateway/runtime/logs/logger';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { claimDelivery, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { runCli } from '../../cli/test/support/run-cli.js';
import { Browser, startTestDashboard, type TestDashboard } from '../../dashboard/test/support/test-dashboard.js';
import { type StrictReceiver, startReceiver } from './support/strict-receiver.js';
import { digestsOf, tracesOf } from './support/traces-of.js';

const ACCOUNT = '491700000077';
const [LIST_A, LIST_B, FRIEND, OTP_PHONE, OPTED_OUT, CARD, MISSING] = makeNumbers(7, 60) as string[] & { length: 7 };
const NUMBERS = { ACCOUNT, LIST_A, LIST_B, FRIEND, OTP_PHONE, OPTED_OUT, CARD, MISSING } as Record<string, string>;
/** Of these nothing is hidden: a search that does not find them finds nothing. */
const OPEN = 'plain-to-see-for-everyone';
/** Nothing else has such digits by chance. */
const CODES = ['73910482', '60482917'] as const;

describe('what callers, people and endpoints say', () => {
  let redis: RedisProcess;
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  let dashboard: TestDashboard;
  let receiver: StrictReceiver;
  let consoleLog = '';
  /** By what it is. */
  const planted = new Map<string, string>();
  const plant = (what: string, value = `${what.replaceAll(' ', '-')}-${randomBytes(12).toString('hex')}`): string => {
    planted.set(what, value);
    return value;
  };

  before(async () => {
    // Strings of a snapshot are packed otherwise, and nothing is found in it.
    [redis, simulator] = await Promise.all([
      RedisProcess.start({ settings: ['--rdbcompression', 'no', '--aof-use-rdb-preamble', 'no'] }),
      startSimulator(),
    ]);
    space = await openRedisSpace({ url: redis.url });
    // The first of these comes again.
    const answer = ({ type }: GatewayEvent) =>
      type === 'send.finished' && !receiver.events.some((event) => event.type === type) ? 422 : 200;
    receiver = await startReceiver(answer, plant('what an endpoint answers'));
    const network = '127.0.0.1/32';
    const { port } = new URL(receiver.url);
    const env = {
      ...{
        LOG_LEVEL: 'debug',
        WEBHOOK_NETWORKS: network,
        ATTACHMENT_NETWORKS: network,
        ATTACHMENT_PORTS: port,
      },
    };
    gateway = await Gateway.start({ space, simulator, env, inOneProcess: true });
    const destination = new PassThrough().on('data', (piece) => {
      consoleLog += piece;
    });
    const logger = createLogger({ service: 'dashboard', level: 'debug', destination });
    const apiUrl = new URL(gateway.baseUrl).origin;
    dashboard = await startTestDashboard(space, { logger, apiUrl });
  });
  after(async () => {
    await dashboard?.close();
    await gateway?.close();
    receiver?.close();
    await simulator?.close();
    await space?.close();
    await redis?.stop();
  });

  const admin = async (method: string, path: string, body: object) => {
    const answer = await fetch(`${simulator.adminUrl}/admin/${path}`, { method, body: JSON.stringify(body) });
    const said = (await answer.json()) as { id: string };
    expect(answer.ok, `${path} ${JSON.stringify(said)}`).to.equal(true);
    return said;
  };
  const told = (type: string, count: number) =>
    eventually(() => receiver.events.filter((event) => event.type === type).length >= count, {
      what: `${count} of ${type}`,
    });

  it('is neither in Redis nor in its files, nor in any log, and no log has a whole number', async () => {
    const { value: token } = await createApiToken(space.store, 'main', {
      name: 'all',
      scopes: ['send', 'otp', 'read', 'opt-outs', 'events', 'webhooks', 'connect'],
    });
    plant('a token', token.split('_')[2]!);
    const call = async (
      path: string,
      json: object | undefined,
      headers: Record<string, string> = {},
      method = 'POST',
    ) => {
      const init = {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      };
      const answer = await fetch(gateway.baseUrl + path, json ? { ...init, body: JSON.stringify(json) } : init);
      // biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
      const body = (answer.headers.get('content-type')?.includes('json') ? await answer.json() : {}) as any;
      return { status: answer.status, body };
    };
    const accepted = async (path: string, json: object, headers?: Record<string, string>) => {
      const { status, body } = await call(path, json, headers);
      expect(status, `${path} ${JSON.stringify(body)}`).to.be.within(200, 299);
      return body;
    };
    await link(accepted);

    const endpoint = await makeEndpoint(accepted);
    const written = await writeAsPeople();
    await tellEverything(accepted);
    await askForWhatIsRefused(call);
    await told('message.received', written);
    await told('send.finished', 3);
    await told('otp.read', 1);
    await replay(accepted, endpoint);
    await readBack(call);
    await useConsole();
    await useCommandLine(endpoint);

    expect(planted.size).to.be.at.least(35);
    await expectNoTrace();
  });

  it('is told as the document has it, signed with secrets that were shown, through rotations', () => {
    expect(receiver.wrong).to.deep.equal([]);
    expect([...receiver.verifiers.values()].every((requests) => requests > 0)).to.equal(true);
    expect(receiver.verifiedTwice, 'while a secret was replaced').to.be.above(20);
  });

  type Accepted = (path: string, json: object, headers?: Record<string, string>) => Promise<Record<string, string>>;
  type Called = (
    path: string,
    json: object | undefined,
    headers?: Record<string, string>,
    method?: string,
  ) => Promise<{ status: number; body: Record<string, string> }>;

  async function link(accepted: Accepted): Promise<void> {
    const { qrCode } = await accepted('/connect?rawQrCode=true', {});
    plant('a QR code', qrCode!.split(',')[1]!);
    await gateway.scan(ACCOUNT, qrCode!);
    await gateway.waitForStatus('connected');
  }

  function noteSecret(what: string, secret: string): void {
    plant(what, secret.slice('whsec_'.length));
    receiver.verifiers.set(secret, 0);
  }

  async function makeEndpoint(accepted: Accepted) {
    const url = `${receiver.url}/${plant('path of a webhook')}?key=${plant('query of a webhook')}`;
    const headers = {
      [`X-${plant('name of a header')}`]: plant('value of a header'),
      Authorization: plant('credentials'),
    };
    const types = ['messages.updated', 'message.received', 'send.finished', 'otp.sent', 'otp.read', 'optout.added'];
    const made = await accepted('/webhooks', {
      url,
      headers,
      types,
      description: OPEN,
      gatherSeconds: 1,
    });
    noteSecret('secret', made.secret!);
    await accepted(`/webhooks/${made.webhookId}/test`, {});
    const rotated = await accepted(`/webhooks/${made.webhookId}/rotate`, {});
    noteSecret('new secret', rotated.secret!);
    const hidden = { content: 'none', numbers: 'masked', gatherSeconds: 1 };
    const asymmetric = await accepted('/webhooks', { url, signature: 'v1a', ...hidden });
    receiver.verifiers.set(asymmetric.secret!, 0);
    await accepted(`/webhooks/${asymmetric.webhookId}/test`, {});
    return { path: `/webhooks/${made.webhookId}`, id: made.webhookId! };
  }

  /** Answers how many events that makes. */
  async function writeAsPeople(): Promise<number> {
    await admin('PUT', `accounts/${FRIEND}`, { pushName: plant('name of a person') });
    const base64 = Buffer.from(plant('file of a person')).toString('base64');
    const media = (kind: string) => ({ text: plant(`caption of ${kind}`), [kind]: { base64 } });
    const { id } = await write({ text: plant('text of a person') });
    const drafts = [
      ...[media('image'), media('video'), { audio: { base64, voice: true } }, { sticker: { base64 } }],
      { ...media('document'), document: { base64, filename: plant('filename of a person') } },
      { location: { latitude: 51.4321987, longitude: -0.12, name: plant('place') } },
      { contacts: [{ name: plant('name on a card'), phone: CARD }] },
      { reaction: { id, emoji: '🦩' } },
      { pollVote: { id, options: [plant('vote')] } },
      { edit: { id }, text: plant('edited text') },
      { unsupported: true },
      { text: plant('reply of a person'), replyTo: id },
      { delete: { id } },
    ];
    for (const draft of drafts) await write(draft);
    planted.set('flamingo', '🦩');
    planted.set('latitude', '51.4321987');
    return 1 + drafts.length;
  }
  const write = (draft: object) => admin('POST', `phones/${FRIEND}/messages`, { to: ACCOUNT, ...draft });

  async function tellEverything(accepted: Accepted): Promise<void> {
    const [to, key] = [[LIST_A, LIST_B], { 'idempotency-key': plant('idempotency key') }];
    await accepted('/send', { to, text: plant('text of a list') }, key);
    const url = `${receiver.url}/${plant('path of an attachment')}?q=${plant('query of an attachment')}`;
    await accepted('/send', { to: LIST_A, text: plant('caption'), attachment: { type: 'image', url } });
    const base64 = Buffer.from(plant('content of an attachment')).toString('base64');
    const attachment = { type: 'document', base64, filename: `${plant('filename')}.txt` };
    await accepted('/send', { to: LIST_B, attachment });
    const [code, late] = CODES.map((each, n) => plant(`code ${n}`, each));
    await accepted('/otp', { phone: OTP_PHONE, code }, { 'idempotency-key': plant('key of an OTP') });
    await accepted('/opt-outs', { phone: OPTED_OUT });
    await admin('PUT', `phones/${MISSING}`, { exists: false });
    await accepted('/contacts/check', { phones: [LIST_A, MISSING] });
    planted.set('code that goes nowhere', late!);
  }

  /** Whatever is refused is said in the log, too. */
  async function askForWhatIsRefused(call: Called): Promise<void> {
    const refused = async (path: string, json: object, headers?: Record<string, string>) =>
      expect((await call(path, json, headers)).status, path).to.be.within(400, 499);
    await refused('/otp', { phone: MISSING, code: CODES[1] });
    await refused('/send', { to: [`${LIST_A}x`], text: plant('text that is refused') });
    await refused('/send', {
      to: LIST_A,
      text: 'x',
      attachment: { type: 'image', url: `http://10.0.0.1/${plant('private path')}` },
    });
    await refused('/webhooks', { url: `https://10.0.0.1/${plant('refused path of a webhook')}` });
    await refused(`/messages/${LIST_A}/${plant('unknown path')}`, {});
    await refused('/send', { to: LIST_A, text: 'x' }, { authorization: `Bearer gw_${plant('wrong token')}` });
    await refused('/webhooks/wh_0123456789abcdef/replay', { ids: [plant('unknown id')] });
    await call(`/opt-outs/${OPTED_OUT}`, undefined, {}, 'GET');
    await call(`/media/med_${plant('unknown file').replaceAll('-', '_')}`, undefined, {}, 'GET');
    await call('/status', undefined, { 'x-request-id': LIST_A! }, 'GET');
    await call('/status', undefined, { 'x-request-id': OPEN }, 'GET');
  }

  async function replay(accepted: Accepted, { path, id }: { path: string; id: string }): Promise<void> {
    const [finished] = receiver.events.filter(({ type }) => type === 'send.finished');
    await parkOne(id, finished!.id);
    await accepted(`${path}/replay`, { ids: [finished!.id] });
    const before = receiver.events.length;
    await accepted(`${path}/replay`, { after: new Date(Date.now() - 60_000).toISOString() });
    await eventually(() => receiver.events.length > before + 5);
    await accepted(`${path}/pause`, {});
    await accepted(`${path}/resume`, {});
  }

  /** As the process that delivers does after three refusals, for which a test would have to wait. */
  async function parkOne(id: string, eventId: string): Promise<void> {
    const key = workspaceKeys(space.store.space, 'main').webhook(id);
    const event = { entry: '1-1', id: eventId, type: 'send.finished' };
    await eventually(async () => {
      const processId = (await space.store.redis.hget(key, 'owner'))!;
      const taken = await takeWebhook(space.store, { workspace: 'main', id }, { processId, sessionMs: 10_000 });
      if (typeof taken === 'string') return false;
      const write = { lane: 'prompt' as const, state: taken.lanes.prompt, nowMs: Date.now() };
      return claimDelivery(space.store, taken, { ...write, changes: [{ what: 'add', key: 'a-key', event }] });
    });
  }

  async function readBack(call: Called): Promise<void> {
    const media = receiver.events.flatMap(({ data }) => JSON.stringify(data).match(/med_[A-Za-z0-9_-]+/g) ?? []);
    expect(new Set(media).size).to.be.at.least(5);
    for (const id of new Set(media))
      expect((await call(`/media/${id}`, undefined, {}, 'GET')).status, id).to.equal(200);
    for (const path of ['/events?after=0', '/messages', '/webhooks', '/opt-outs', '/devices', '/status'])
      expect((await call(path, undefined, {}, 'GET')).status, path).to.equal(200);
  }

  async function useConsole(): Promise<void> {
    const secret = plant('one-time link', await createOneTimeLink(space.store, 'admin'));
    const browser = new Browser(dashboard.port);
    await browser.post('/sign-in/link', { secret });
    await browser.post('/me/password', { password: plant('password') });
    await browser.post('/sign-in', { name: 'admin', password: plant('wrong password') });
    const { body } = await browser.post('/tokens', { name: 'of the console' });
    plant('token of the console', String(body.value).split('_')[2]!);
    const message = { to: LIST_A, text: plant('text in the console') };
    expect(
      (await browser.post('/messages', { device: 'default', key: plant('key of the console'), message })).status,
    ).to.equal(202);
    await browser.post('/messages/find', { phone: LIST_B });
    await browser.post('/opt-outs', { phones: [MISSING] });
    for (const path of ['/devices/default', '/messages', '/webhooks', '/opt-outs', '/overview', '/audit'])
      await browser.get(path);
    plant('cookie', decodeURIComponent(browser.cookie!.split('=')[1]!).slice(2, 30));
  }

  async function useCommandLine({ id }: { id: string }): Promise<void> {
    const run = async (...args: string[]) =>
      (await runCli(space, [...args, '--json'], { env: { WEBHOOK_NETWORKS: '127.0.0.1/32' } })).stdout;
    const [rotated] = await Promise.all([run('webhooks', 'rotate', id), run('opt-outs', 'check', OPTED_OUT!)]);
    noteSecret('secret of the command line', (JSON.parse(rotated) as { secret: string }).secret);
    await run('webhooks', 'test', id);
  }

  async function expectNoTrace(): Promise<void> {
    const traces = [...planted].flatMap(([what, value]) => tracesOf(value).map((trace) => ({ what, trace })));
    for (const code of CODES) traces.push(...digestsOf(code).map((trace) => ({ what: 'a digest of a code', trace })));
    const logs = Buffer.from(JSON.stringify(gateway.logs()) + consoleLog);
    const places: Record<string, Buffer> = {
      ...(await readRedis()),
      'the logs': logs,
      'the metrics': Buffer.from((await gateway.metrics()).join('\n')),
    };
    const found: string[] = [];
    for (const [place, bytes] of Object.entries(places)) {
      if (place !== 'the metrics') expect(bytes.includes(OPEN), place).to.equal(true);
      for (const { what, trace } of traces) {
        const at = bytes.indexOf(trace);
        if (at >= 0)
          found.push(`${what} in ${place}: ${bytes.subarray(Math.max(0, at - 150), at + 60).toString('latin1')}`);
      }
    }
    for (const [who, number] of Object.entries(NUMBERS)) {
      const at = logs.indexOf(number.slice(1));
      if (at >= 0) found.push(`number of ${who} in the logs: ${logs.subarray(at - 200, at + 60)}`);
    }
    expect(found, found.join('\n')).to.deep.equal([]);
  }

  /** What a copy of it would show: each file, each value as it is read, and each as Redis writes it down. */
  async function readRedis(): Promise<Record<string, Buffer>> {
    const { commands } = space.clients;
    const [, folder] = (await commands.config('GET', 'dir')) as [string, string];
    await commands.save();
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    const places = files.map(
      ({ parentPath, name }) => [`the file ${name}`, readFileSync(join(parentPath, name))] as const,
    );
    const values: Buffer[] = [];
    for (const key of await commands.keys('*')) {
      const [name, dumped] = [Buffer.from(`${key}\n`), await commands.dumpBuffer(key)];
      values.push(name, dumped ?? Buffer.alloc(0));
    }
    return Object.fromEntries([
      ...places.filter(([, bytes]) => bytes.length > 10_000),
      ['values of Redis', Buffer.concat(values)],
    ]);
  }
});
