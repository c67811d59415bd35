import { type ClientRequest, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clientVersionKeys, deviceKeys, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { ensureDevice } from '@gateway/store/devices/devices';
import { openEvents } from '@gateway/store/events/open-events';
import { closeUnwanted } from '@gateway/store/events/opening/close-events';
import { setClientVersion } from '@gateway/store/fleet/client-version';
import { listMembers } from '@gateway/store/fleet/members';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { deleteWebhook, pauseWebhook, resumeWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { takeDevice } from '@gateway/testkit/ownership';
import { makeNumbers } from '@gateway/testkit/phones';
import type { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import { ALERTS_OF_CLUSTERS, readRuleFiles, readRules } from './support/read-queries.js';
import { type Prometheus, startPrometheus } from './support/start-prometheus.js';

const DEVICES = ['banned', 'unlinked', 'replaced', 'quiet'] as const;
const NUMBERS = makeNumbers(DEVICES.length, 93);
const [LATE] = makeNumbers(1, 95) as [string];
const VERSION = '2.3000.1043000001';
const NEXT_VERSION = '2.3000.1043000002';
const DAY_MS = 86_400_000;
const BODY_BUDGET_BYTES = 64 * 1024 * 1024;
const BODY = `{"to":"${NUMBERS[0]}","attachment":{"base64":"${'A'.repeat(8 * 1024 * 1024)}`;
/** Of an outbox: that one change is missing. */
const ENTRY = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1]);
const SKEWED_CLOCK = 'data:text/javascript,globalThis.now=Date.now;Date.now=()=>globalThis.now()+60000';

/**
 * The rules with short memories: an alert waits for nothing, minutes and hours become seconds, and the numbers of the installation are old
 * after 20 seconds. What they compare stays as it is.
 */
const hasten = (rules: string) =>
  rules
    .replace(/\bfor: \w+/g, 'for: 0s')
    .replace(/\[(10|15)m\]/g, '[20s]')
    .replace(/\[(5m|30m|1h)\]/g, '[10s]')
    .replace(/\[(6h|1d|3d)\]/g, '[15s]')
    .replace('gateway_fleet_survey_age_seconds) > 90', 'gateway_fleet_survey_age_seconds) > 20');

describe('alerts, when what they are about happens', () => {
  let redis: RedisProcess;
  let proxy: RedisProxy;
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  let secondApi: ServiceProcess;
  let odd: ServiceProcess;
  let prometheus: Prometheus;
  /** Of webhooks: answers what the path says. */
  const receiver = createServer((req, res) => res.writeHead(Number(req.url!.slice(1))).end());
  const fired = new Set<string>();

  before(async () => {
    receiver.listen(0, '127.0.0.1');
    redis = await RedisProcess.start();
    proxy = await startRedisProxy(redis.url);
    [space, simulator] = await Promise.all([openRedisSpace({ url: redis.url }), startSimulator()]);
    simulator.network.settings.clientExpirationMs = Date.now() + DAY_MS;
    const seen = { [`seen:${VERSION}`]: Date.now() - 90 * DAY_MS };
    await space.store.redis.hset(clientVersionKeys(space.store.space).version, seen);
    const env = {
      ...{ REDIS_URL: proxy.url, SESSION_TTL_MS: '3000', ACK_TIMEOUT_MS: '2000', MESSENGER_VERSION: VERSION },
      ...{ BODY_BUDGET_BYTES: String(BODY_BUDGET_BYTES), WEBHOOK_NETWORKS: '127.0.0.1/32' },
    };
    gateway = await Gateway.start({ space, simulator, senders: 2, connections: 2, env, readyMs: 120_000 });
    await Promise.all([gateway.addEvents(), gateway.addEvents()]);
    secondApi = await gateway.addApi();
    for (const [i, device] of DEVICES.entries()) await gateway.link(NUMBERS[i]!, device);
    // Of another pace, for another network, with a wrong clock.
    odd = await gateway.addSender({
      ...{ MESSENGER_TRUST: `root:${'ab'.repeat(32)}`, PACE_PER_MINUTE: '7' },
      NODE_OPTIONS: `--import=${SKEWED_CLOCK}`,
    });
    const services = [secondApi, ...gateway.running()];
    prometheus = await startPrometheus({ services, rules: readRuleFiles().map(hasten), everySeconds: 1 });
  });
  after(async () => {
    receiver.close();
    await prometheus?.stop();
    await Promise.all([secondApi?.kill(), ...(gateway?.senders ?? []).map((sender) => sender.kill())]);
    await gateway?.close();
    await simulator?.close();
    proxy?.restore();
    await space?.close();
    proxy?.close();
    await redis?.stop();
  });

  const fires = (...names: string[]) =>
    eventually(
      async () => {
        for (const name of await prometheus.listFiring()) fired.add(name);
        const missing = names.filter((name) => !fired.has(name));
        if (missing.length > 0) throw new Error(`silent: ${missing.join(', ')}`);
        return true;
      },
      { everyMs: 500 },
    );
  const numberOf = (device: (typeof DEVICES)[number]) => NUMBERS[DEVICES.indexOf(device)]!;
  const end = (device: (typeof DEVICES)[number], code: number) => {
    for (const { connection } of simulator.network.accounts.find(numberOf(device))!.devices.values())
      connection?.endStream(code);
  };
  const send = (people: number) =>
    gateway.call('POST', '/send', { device: 'quiet', body: { to: makeNumbers(people, 94), text: 'hello' } });

  it('settings, clocks and versions', () =>
    fires(
      ...['GatewaySettingsDiffer', 'GatewayClockOff'],
      ...['GatewayClientVersionExpiresSoon', 'GatewayClientVersionOld'],
    ));

  it('ends of sessions', async () => {
    end('banned', 403);
    end('unlinked', 401);
    end('replaced', 440);
    await fires('GatewayDeviceBanned', 'GatewayDeviceLoggedOut', 'GatewayDeviceReplaced');
  });

  it('bodies that fill the memory for them', async () => {
    const open = new Set<ClientRequest>();
    let isOver = false;
    // A busy machine refuses some, and ends those that take too long: they come again.
    const hold = async () => {
      const { value } = await createApiToken(space.store, 'main', { name: 'large', device: 'quiet' });
      const headers = {
        ...{ authorization: `Bearer ${value}`, 'content-type': 'application/json' },
        'content-length': BODY.length + 1,
      };
      while (!isOver) {
        const body = request(`${gateway.baseUrl}/send`, { method: 'POST', headers });
        body.on('error', () => {});
        body.on('response', (answer) => answer.resume());
        open.add(body);
        body.write(BODY);
        await new Promise((resolve) => body.once('close', resolve));
        open.delete(body);
      }
    };
    const held = Array.from({ length: 9 }, hold);
    await fires('GatewayBodyBudgetFull').finally(() => {
      isOver = true;
      for (const body of open) body.destroy();
    });
    await Promise.all(held);
  });

  it('a network that is silent, and one that refuses', async () => {
    const silence = simulator.network.faults.add({ on: 'message', do: { silent: true } });
    expect((await send(3)).status).to.equal(202);
    const sendOtp = (phone: string) =>
      gateway.call('POST', '/otp', { device: 'quiet', body: { phone, code: '482913', language: 'English' } });
    const codes = Promise.all(makeNumbers(3, 96).map(sendOtp));
    await fires('GatewayStalled', 'GatewaySessionsStalled');
    await fires('GatewayErrorBudgetBurnsFast otp', 'GatewayErrorBudgetBurnsFast lists');
    expect((await codes).map(({ status }) => status)).to.deep.equal([202, 202, 202]);
    simulator.network.faults.remove(silence.id);
    simulator.network.faults.add({ on: 'message', do: { ackError: 403 } });
    await send(20);
    await fires('GatewayNetworkRefuses', 'GatewayErrorBudgetBurnsFast delivery');
    simulator.network.faults.clear();
  });

  it('logins that are not answered, and a version that is refused', async () => {
    simulator.network.faults.add({ on: 'login', do: { silent: true } });
    end('quiet', 515);
    await fires('GatewayDevicesWithoutSocket');
    simulator.network.faults.replace([{ on: 'login', do: { error: 405 } }]);
    await fires('GatewayClientVersionRefused', 'GatewayDeviceOutdated');
    simulator.network.faults.clear();
  });

  it('a sender that trusts no server, and others that hang or are gone', async () => {
    // Of the next one the network says nothing.
    simulator.network.settings.clientExpirationMs = null;
    await setClientVersion(space.store, NEXT_VERSION);
    // The sender with the fewest devices gets a new one.
    const { body } = await gateway.call('POST', '/connect?rawQrCode=true', { device: 'late' });
    await gateway.scan(LATE, body.qrCode, 'late');
    await fires('GatewayNetworkUntrusted');
    const hung = gateway.senders.filter((sender) => sender !== odd);
    const sessions = () => space.store.redis.keys(`${space.prefix}:*:session:sender-*`);
    const before = await sessions();
    for (const sender of hung) sender.signal('SIGSTOP');
    await eventually(async () => (await listMembers(space.store)).length === 1);
    await eventually(async () => {
      const left = await sessions();
      return before.some((session) => !left.includes(session));
    });
    for (const sender of hung) sender.signal('SIGCONT');
    await fires('GatewayLostSessions');
    await odd.kill();
    await fires('GatewayProcessDown');
    // As five minutes later: so long a device waits that found no server to trust.
    for (const device of [...DEVICES, 'late']) {
      const { observed } = deviceKeys(space.store.space, { workspace: 'main', device });
      await space.store.redis.hdel(observed, 'notBeforeMs');
    }
  });

  it('endpoints that fail, are gone or are left behind, and outboxes that no one empties', async () => {
    const { redis, space: keys } = space.store;
    const { port } = receiver.address() as AddressInfo;
    const create = (status: number, workspace?: string) =>
      createActiveWebhook(space.store, `http://127.0.0.1:${port}/${status}`, workspace);
    const minutesAgo = (minutes: number) => Date.now() - minutes * 60_000;
    // It has failed for long.
    const failingId = await create(503);
    const failing = workspaceKeys(keys, 'main').webhook(failingId);
    const breaker = JSON.stringify({ failures: 5, sinceMs: minutesAgo(16), nextAttemptMs: 0 });
    await redis.hset(failing, { status: 'failing', breaker });
    const gone = workspaceKeys(keys, 'main').webhook(await create(410));
    await addOptOuts(space.store, 'main', { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    // Something happened long ago that another process has still not told, and something is put aside.
    const behindId = await create(204, 'behind');
    const behind = workspaceKeys(keys, 'behind').webhook(behindId);
    const { eventLog, webhookSession } = workspaceKeys(keys, 'behind');
    await redis.set(webhookSession('another'), '');
    await redis.del(eventLog);
    await redis.xadd(eventLog, `${minutesAgo(20)}-0`, 'e', 'x');
    await redis.hset(behind, { 'lane:prompt': JSON.stringify({ cursor: '0-0' }), owner: 'another' });
    await redis.zadd(workspaceKeys(keys, 'behind').webhookParkedSince(behindId), minutesAgo(20), 'someone');
    // One workspace has a log that is none, and in another an outbox was full.
    await openEvents(space.store, 'broken');
    await redis.set(workspaceKeys(keys, 'broken').eventLog, 'no stream');
    await redis.del(shardKeys(keys, 0).outbox('broken'));
    await redis.xadd(shardKeys(keys, 0).outbox('broken'), `${minutesAgo(2)}-0`, 'e', 'x');
    await redis.set(`${shardKeys(keys, 1).outbox('main')}:missing`, 7);
    await redis.xadd(shardKeys(keys, 1).outbox('main'), '*', 'e', ENTRY);
    await fires('GatewayWebhookFailing', 'GatewayWebhookDisabled', 'GatewayWebhooksLate', 'GatewayWebhookParked');
    await fires('GatewayEventsLate', 'GatewayEventsMissing');
    expect(await redis.hget(gone, 'status')).to.equal('disabled');
    await deleteWebhook(space.store, 'main', failingId);
    await deleteWebhook(space.store, 'behind', behindId);
    await closeUnwanted(space.store, 'broken', Number.MAX_SAFE_INTEGER);
  });

  it('messages that have to go for room before an endpoint hears of them', async () => {
    const { port } = receiver.address() as AddressInfo;
    const address = { workspace: 'crowded', device: 'asked' };
    const id = await createActiveWebhook(space.store, `http://127.0.0.1:${port}/204`, address.workspace);
    await pauseWebhook(space.store, address.workspace, id);
    await ensureDevice(space.store, address);
    const ownership = (await takeDevice(space.store, address, { owner: 'test', ttlMs: 60_000 }))!;
    for (const platformId of ['A', 'B']) {
      const message = { platformId, jid: '491511234001@s.whatsapp.net', text: 'hello' };
      await recordReceived(space.store, ownership, { message, nowMs: Date.now(), mostBytes: 0 });
    }
    await resumeWebhook(space.store, address.workspace, id);
    await fires('GatewayMessagesWithoutContent');
    await deleteWebhook(space.store, address.workspace, id);
  });

  it('a Redis that is far away, nearly full, refuses, and is away', async () => {
    proxy.setDelay(150);
    await fires('GatewayRedisSlow');
    proxy.setDelay(0);
    const { commands } = space.clients;
    const used = Number(/^used_memory:(\d+)/m.exec(await commands.info('memory'))![1]);
    await commands.config('SET', 'maxmemory', Math.round(used * 1.1));
    await fires('GatewayRedisNearlyFull');
    await commands.config('SET', 'maxmemory', 0);
    await commands.acl('SETUSER', 'default', '-set', '-hset', '-zadd');
    await fires('GatewayRedisRefuses');
    await commands.acl('SETUSER', 'default', '+@all');
    proxy.cut();
    const asking = new AbortController();
    const answers = keepAsking(asking.signal);
    await fires(
      ...['GatewayRedisDown', 'GatewaySurveyOld'],
      ...['GatewayErrorBudgetBurnsFast', 'GatewayErrorBudgetBurns', 'GatewayErrorBudgetBurnsSlowly'],
      'GatewayErrorBudgetBurnsFast acceptance',
    );
    asking.abort();
    expect(new Set(await answers)).to.deep.equal(new Set([503]));
    proxy.restore();
  });
  async function keepAsking(signal: AbortSignal): Promise<number[]> {
    const answers: number[] = [];
    while (!signal.aborted) answers.push((await send(1)).status);
    return answers;
  }

  it('services that are gone', async () => {
    await gateway.senders[0]!.kill();
    await fires('GatewayCapacityShort');
    await Promise.all([...gateway.senders, ...gateway.events].map((service) => service.kill()));
    await fires('GatewayNoSender', 'GatewayNoEvents');
    await Promise.all([gateway.api.kill(), secondApi.kill()]);
    await fires('GatewayNoApi');
    await Promise.all(gateway.connections.map((service) => service.kill()));
    await fires('GatewayNoMetrics');
  });

  it('are all that there are', () => {
    const all = readRules().flatMap(({ alert }) => alert ?? []);
    expect([...fired, ...ALERTS_OF_CLUSTERS]).to.include.members(all);
  });

  it('and all are silent once it is over', async () => {
    await Promise.all([gateway.startAgain(), gateway.addEvents()]);
    await prometheus.lookAt(gateway.running());
    const isSilent = async () => {
      const firing = await prometheus.listFiring();
      if (firing.length > 0) throw new Error(`still firing: ${firing.join(', ')}`);
      return (await prometheus.ask('up == 1')).length === gateway.running().length;
    };
    await eventually(isSilent, { everyMs: 500 });
  });
});
