import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@gateway/scripts/gateway/find-free-port';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import type { ServiceProcess } from '@gateway/testkit/service-process';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { nameRules, RULES_FOLDER, readDashboards, readRules } from './support/read-queries.js';

const ACCOUNT = '491700000071';
const PEOPLE = makeNumbers(40, 71);

/** What has nothing to show while all is well: docs/runbook.md names it. */
const EMPTY_WHEN_WELL = [
  'gateway_client_version_expires_timestamp_seconds',
  '1000 * min(gateway_client_version_expires_timestamp_seconds)',
  'max by (reason) (gateway_devices{state="connecting"}) > 0',
  'max by (reason) (gateway_devices{state="disconnected"}) > 0',
  'sum by (outcome) (increase(gateway_disconnects_total[5m])) > 0',
  'max by (error) (increase(gateway:recipients_failed:max[5m])) > 0',
];
/** `up{job="x"}`, without what is done with it. */
const SELECTORS = /\b(?:gateway[_:][\w:]+|up|nodejs_\w+|process_\w+)(?:\{[^}]*\})?/g;

describe('a Prometheus that looks at two of each service, which send', function () {
  this.timeout(120_000);
  const fixture = useGateway({ senders: 2, connections: 2, readyMs: 40_000 });
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'));
  let [url, prometheus, secondApi] = [
    '',
    undefined as ChildProcess | undefined,
    undefined as ServiceProcess | undefined,
  ];

  const ask = async (expr: string): Promise<{ metric: Record<string, string>; value: [number, string] }[]> => {
    const answer = await fetch(`${url}/api/v1/query`, { method: 'POST', body: new URLSearchParams({ query: expr }) });
    const { data, error } = (await answer.json()) as { data?: { result: [] }; error?: string };
    if (!data) throw new Error(`${expr}: ${error}`);
    return data.result;
  };

  before(async () => {
    const { gateway } = fixture;
    secondApi = await gateway.addApi();
    await Promise.all([gateway.addEvents(), gateway.addEvents()]);
    const services = [gateway.api, secondApi, ...gateway.senders, ...gateway.connections, ...gateway.events];
    const targets = await Promise.all(
      services.map(async (service) => {
        const { opsPort } = await service.waitForLog((line) => typeof line.opsPort === 'number');
        return `127.0.0.1:${opsPort}`;
      }),
    );
    const config = join(folder, 'prometheus.yml');
    const every = { scrape_interval: '1s', evaluation_interval: '1s' };
    const rule_files = nameRules().map((name) => join(RULES_FOLDER, name));
    const scrape_configs = [{ job_name: 'gateway', static_configs: [{ targets }] }];
    writeFileSync(config, stringify({ global: every, rule_files, scrape_configs }));
    url = `http://127.0.0.1:${await findFreePort()}`;
    const args = [
      `--config.file=${config}`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${url.slice(7)}`,
    ];
    prometheus = spawn('prometheus', args, { stdio: 'ignore' });
    await once(prometheus, 'spawn');
    await eventually(async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok === true);
    await eventually(async () => (await ask('up == 1')).length === services.length);

    await gateway.link(ACCOUNT);
    const messageId = await fixture.send(PEOPLE, 'to be seen in the metrics');
    const otp = await gateway.call('POST', '/otp', { body: { phone: PEOPLE[0], code: '482913', language: 'English' } });
    expect(otp.status).to.equal(200);
    await gateway.waitForSend(messageId, { read: PEOPLE.length }, { timeoutMs: 40_000 });
    // A survey later, Prometheus knows all of it.
    const isKnown = async () => Number((await ask('sum(gateway:recipients_reached:max{status="read"})'))[0]?.value[1]);
    await eventually(async () => (await isKnown()) === PEOPLE.length + 1, { everyMs: 500 });
    await eventually(async () => (await ask('gateway:slo_bad:ratio3d')).length === 4);
  });
  after(async () => {
    if (prometheus?.pid !== undefined) {
      prometheus.kill();
      if (prometheus.exitCode === null) await once(prometheus, 'exit');
    }
    await secondApi?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('finds data for each query of a dashboard and each recorded rule', async () => {
    const recorded = readRules().filter(({ record }) => record !== undefined);
    const shown = readDashboards().flatMap(({ panels }) => panels.flatMap(({ targets }) => targets));
    const empty: string[] = [];
    for (const { expr } of [...recorded, ...shown]) {
      if ((await ask(expr)).length === 0 && !EMPTY_WHEN_WELL.includes(expr)) empty.push(expr);
    }
    expect(empty).to.deep.equal([]);
  });

  it('finds every series that an alert asks for', async () => {
    const alerts = readRules().filter(({ alert }) => alert !== undefined);
    const selectors = new Set(alerts.flatMap(({ expr }) => expr.match(SELECTORS) ?? []));
    const empty: string[] = [];
    for (const selector of selectors) {
      if ((await ask(selector)).length === 0 && !EMPTY_WHEN_WELL.includes(selector)) empty.push(selector);
    }
    expect(empty).to.deep.equal([]);
  });

  it('sees no failures, and no reason for an alert', async () => {
    const { data } = (await (await fetch(`${url}/api/v1/alerts`)).json()) as {
      data: { alerts: { state: string; labels: Record<string, string> }[] };
    };
    const firing = data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
    expect(firing).to.deep.equal([]);
  });

  it('sees messages that are refused, and that no sender lives', async () => {
    const { gateway, simulator } = fixture;
    const isPending = async (name: string) => (await ask(`ALERTS{alertname="${name}"}`)).length > 0;
    simulator.network.faults.add({ on: 'message', do: { ackError: 403 } });
    await fixture.send(PEOPLE.slice(0, 10), 'to be refused');
    await eventually(() => isPending('GatewayNetworkRefuses'), { everyMs: 500 });
    await Promise.all(gateway.senders.map((sender) => sender.kill()));
    await eventually(() => isPending('GatewayNoSender'), { timeoutMs: 40_000, everyMs: 500 });
    await eventually(() => isPending('GatewayProcessDown'), { everyMs: 500 });
  });
});
