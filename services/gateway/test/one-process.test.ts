import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import { describeMetrics, METRIC_GROUPS } from '@gateway/gateway/metrics-document';
import { ROLE_NAMES } from '@gateway/gateway/roles';
import { addMetrics, combinationsOf, createMetrics, type MetricSpec } from '@gateway/runtime/process/metrics';
import { ROOT } from '@gateway/scripts/paths';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { startRedisProxy } from '@gateway/testkit/redis-proxy';
import { openRedisSpace } from '@gateway/testkit/redis-space';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '447700900600';
const PHONES = ['447700900601', '447700900602', '447700900603'];

/** Without those of the console, which does not run here. */
const METRICS = Object.entries(METRIC_GROUPS).flatMap(([title, group]) =>
  title === 'Of the console' ? [] : Object.values(group),
);

describe('one process with all roles', () => {
  const fixture = useGateway({ inOneProcess: true });

  it('links an account, sends to a list, and logs out; says in each line who it is, and more between two SIGUSR2', async () => {
    const { gateway, send, shown } = fixture;
    await gateway.link(ACCOUNT);
    const { logs } = gateway.api;
    expect(logs.filter(({ processId, version }) => typeof processId !== 'string' || version !== '0.1.0')).to.deep.equal(
      [],
    );
    expect(logs.filter(({ level }) => level === 'debug')).to.deep.equal([]);
    // It says more, until the next one.
    gateway.api.signal('SIGUSR2');
    await gateway.api.waitForLog(({ threshold }) => threshold === 'debug');
    await gateway.waitForSend(await send(PHONES, 'from one process'), { read: PHONES.length });
    await gateway.api.waitForLog(({ message, level }) => message === 'message acknowledged' && level === 'debug');
    gateway.api.signal('SIGUSR2');
    await gateway.api.waitForLog(({ threshold }) => threshold === 'info');
    expect(shown(ACCOUNT, 'from one process')).to.have.members(PHONES);
    expect((await gateway.call('POST', '/disconnect')).status).to.equal(200);
    await gateway.waitForStatus('disconnected');
  });

  it('tells the health and the metrics of all roles at one place, each metric once', async () => {
    const { opsPort } = await fixture.gateway.api.waitForLog((line) => typeof line.opsPort === 'number');
    const answer = await fetch(`http://127.0.0.1:${opsPort}/readyz`);
    expect(await answer.json()).to.deep.equal({ ready: true, checks: { start: 'ok', fleet: 'ok', writes: 'ok' } });
    const names = [...(await fixture.gateway.api.metrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(new Set(names).size).to.equal(names.length);
    expect(names.filter((name) => name?.startsWith('gateway_'))).to.have.members(METRICS.map(({ name }) => name));
  });

  it('has metrics that Prometheus has nothing against, and every known value of their labels', async () => {
    const ofConsole = createMetrics();
    addMetrics(ofConsole, METRIC_GROUPS['Of the console']!);
    const text = (await fixture.gateway.api.metrics()) + (await ofConsole.metrics());
    const { status, stderr, stdout, error } = spawnSync('promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    });
    expect({ status, stderr, stdout, error }).to.deep.equal({ status: 0, stderr: '', stdout: '', error: undefined });
    const series = new Set([...text.matchAll(/^(\w+(?:\{[^}]*\})?) /gm)].map(([, name]) => name));
    for (const name of METRICS.flatMap(seriesOf)) expect(series).to.include(name);
  });

  it('has in its metrics no label and no closed value that docs/metrics.md does not have', async () => {
    const text = await fixture.gateway.api.metrics();
    for (const [, full, inside] of text.matchAll(/^(gateway_\w+?)\{([^}]*)\} /gm)) {
      const { labels = {} } = METRICS.find(
        ({ name }) => full!.replace(/_(bucket|sum|count)$/, '') === name || full === name,
      )!;
      for (const [, label, value] of inside!.matchAll(/(\w+)="([^"]*)"/g)) {
        if (label === 'le') continue;
        const values = labels[label as keyof typeof labels];
        expect(values, `${full} ${label}`).not.to.equal(undefined);
        if (values !== 'open') expect(values, `${full} ${label}`).to.include(value);
      }
    }
  });
});

describe('a process with the console and the API', () => {
  it('takes calls when all its roles have started, and takes leave of callers first', async () => {
    const space = await openRedisSpace();
    const env = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, LOG_LEVEL: 'debug', ...space.keySettings };
    const process = await ServiceProcess.start(ROLE_NAMES.join(), { ...env, API_PORT: '0', DASHBOARD_PORT: '0' });
    try {
      const listening = process.logs.flatMap(({ message }) => (/^(\w+) listens$/.exec(String(message)) ?? []).slice(1));
      expect(listening).to.deep.equal(['dashboard', 'api']);
      await process.stop();
      const parts = process.logs
        .filter(({ message }) => message === 'component stopped')
        .map(({ part }) => String(part));
      expect(parts.find((part) => part.startsWith('http server'))).to.equal('http server');
    } finally {
      await process.kill();
      await space.close();
    }
  });
});

describe('a role in a process of its own', () => {
  it('starts, whichever it is, has all its metrics at 0 from the first scrape on, and ends its ops server last', async () => {
    const space = await openRedisSpace();
    try {
      const env = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, LOG_LEVEL: 'debug', ...space.keySettings };
      const ports = { API_PORT: '0', DASHBOARD_PORT: '0', PACE_PER_MINUTE: '20' };
      const started = await Promise.all(ROLE_NAMES.map((role) => ServiceProcess.start(role, { ...env, ...ports })));
      const scrape = () => Promise.all(started.map((process) => process.metrics()));
      expectAllAtZero(await scrape(), ({ of }) => of !== 'fleet');
      // As soon as Redis was asked: until then a 0 would look like a counter that began anew.
      await eventually(async () => expectAllAtZero(await scrape(), () => true) === undefined, { everyMs: 200 });
      expect(await Promise.all(started.map((process) => process.stop()))).to.deep.equal(ROLE_NAMES.map(() => true));
      for (const { service, logs } of started) {
        const parts = logs.filter(({ message }) => message === 'component stopped').map(({ part }) => part);
        expect(parts.slice(-3), service).to.deep.equal(['redis', 'ops server', 'log level']);
      }
    } finally {
      await space.close();
    }
  });
});

describe('the end of a process', () => {
  it('can be watched for as long as it takes, whichever role it has', async () => {
    const [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    const proxy = await startRedisProxy(space.url);
    const ofDashboard = { KEY_PREFIX: space.prefix, ...space.keySettings, DASHBOARD_PORT: '0' };
    const [gateway, dashboard] = await Promise.all([
      Gateway.start({ space, simulator, env: { REDIS_URL: proxy.url } }),
      ServiceProcess.start('dashboard', { REDIS_URL: proxy.url, ...ofDashboard }),
    ]);
    await gateway.addEvents();
    const processes = [...gateway.running(), dashboard];
    try {
      expect(processes.map(({ service }) => service)).to.have.members(ROLE_NAMES);
      const opsUrls = await Promise.all(processes.map(opsUrlOf));
      const authorization = `Bearer ${await gateway.tokenOf('default')}`;
      const underWay = await Promise.all([
        beginRequest(gateway.api, '/api/messenger/v1/send', { authorization }),
        beginRequest(dashboard, '/console/api/sign-in', { 'sec-fetch-site': 'same-origin' }),
      ]);
      // The connection service holds a device.
      expect((await gateway.call('POST', '/connect?rawQrCode=true')).body.qrCode).to.be.a('string');
      // Those two wait for their callers; the others take leave of Redis, and that takes as long as Redis does.
      proxy.freeze();
      for (const process of processes) process.signal('SIGTERM');
      const watched = await Promise.all(opsUrls.map(watchStop));
      expect(watched.map(({ statuses }) => statuses)).to.deep.equal(ROLE_NAMES.map(() => [503, 200, 200]));
      for (const { metrics } of watched) expect(metrics).to.include('gateway_build_info{');
      const sender = processes.findIndex(({ service }) => service === 'sender');
      expect(watched[sender]!.metrics).to.include('gateway_owned_devices');
      expect(processes.map(({ isRunning }) => isRunning)).to.deep.equal(ROLE_NAMES.map(() => true));
      proxy.restore();
      for (const begun of underWay) begun.destroy();
      expect(await Promise.all(processes.map((process) => process.stop()))).to.deep.equal(ROLE_NAMES.map(() => true));
      const gone = await Promise.allSettled(opsUrls.map((url) => fetch(`${url}/livez`)));
      expect(gone.map(({ status }) => status)).to.deep.equal(ROLE_NAMES.map(() => 'rejected'));
    } finally {
      await Promise.all(processes.map((process) => process.kill()));
      await simulator.close();
      proxy.close();
      await space.close();
    }
  });
});

async function opsUrlOf(process: ServiceProcess): Promise<string> {
  const { opsPort } = await process.waitForLog((line) => typeof line.opsPort === 'number');
  return `http://127.0.0.1:${opsPort}`;
}

/** What the ops port answers of readiness, of life and with metrics, once it has said that the process stops. */
async function watchStop(opsUrl: string): Promise<{ statuses: number[]; metrics: string }> {
  await eventually(async () => (await (await fetch(`${opsUrl}/readyz`)).text()).includes('"lifecycle":"stopping"'));
  const answers = await Promise.all(['/readyz', '/livez', '/metrics'].map((path) => fetch(`${opsUrl}${path}`)));
  return { statuses: answers.map(({ status }) => status), metrics: await answers[2]!.text() };
}

/** A request that the process has taken, and whose body does not come. */
async function beginRequest(process: ServiceProcess, path: string, headers: object): Promise<ClientRequest> {
  const { port } = await process.waitForLog(({ message }) => message === `${process.service} listens`);
  const expecting = { 'content-type': 'application/json', 'content-length': 2, expect: '100-continue' };
  const begun = request(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers: { ...expecting, ...headers } });
  begun.on('error', () => {});
  begun.flushHeaders();
  await once(begun, 'continue');
  return begun;
}

/** Nothing has happened yet: of each metric every known value of its labels is there, and no counter has counted. */
function expectAllAtZero(scrapes: readonly string[], isMeant: (spec: MetricSpec) => boolean): void {
  const meant = Object.values(METRIC_GROUPS).flatMap((group) => Object.values(group).filter(isMeant));
  const seen = new Set<string>();
  for (const text of scrapes) {
    const series = new Map([...text.matchAll(/^(\w+(?:\{[^}]*\})?) (\S+)$/gm)].map(([, name, value]) => [name, value]));
    for (const spec of meant.filter(({ name }) => text.includes(`\n# TYPE ${name} `))) {
      seen.add(spec.name);
      for (const name of seriesOf(spec)) {
        expect(series.get(name), name).not.to.equal(undefined);
        const isOfStart = spec.type === 'gauge' || name.startsWith('gateway_redis_command');
        if (!isOfStart) expect(series.get(name), name).to.equal('0');
      }
    }
  }
  expect([...seen]).to.have.members(meant.map(({ name }) => name));
}

/** Those that are known before; of a histogram their counts. */
function seriesOf({ name, type, ...spec }: MetricSpec): string[] {
  return combinationsOf({ name, type, ...spec }).map((labels) => {
    const inside = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    return `${name}${type === 'histogram' ? '_count' : ''}${inside.length > 0 ? `{${inside.join(',')}}` : ''}`;
  });
}

describe('docs/metrics.md', () => {
  it('is what `npm run metrics` makes', () => {
    expect(readFileSync(`${ROOT}docs/metrics.md`, 'utf8')).to.equal(describeMetrics(METRIC_GROUPS));
  });
});

describe('ROLES', () => {
  it('names roles that there are', async () => {
    const failure = await ServiceProcess.start('sender,reporter', {}, { readyMs: 15_000 }).catch(String);
    expect(failure).to.include('ROLES').and.to.include(ROLE_NAMES.join(', '));
  });
});
