import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import type { ServiceProcess } from '@gateway/testkit/service-process';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';
import { readDashboards, readRuleFiles, readRules, readScalingQuery } from './support/read-queries.js';
import { type Prometheus, startPrometheus } from './support/start-prometheus.js';

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
  const fixture = useGateway({ senders: 2, connections: 2, readyMs: 90_000 });
  let secondApi: ServiceProcess | undefined;
  let prometheus: Prometheus | undefined;
  const ask = (expr: string) => prometheus!.ask(expr);

  before(async () => {
    const { gateway } = fixture;
    secondApi = await gateway.addApi();
    await Promise.all([gateway.addEvents(), gateway.addEvents()]);
    const services = [gateway.api, secondApi, ...gateway.senders, ...gateway.connections, ...gateway.events];
    prometheus = await startPrometheus({ services, rules: readRuleFiles(), everySeconds: 1 });
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
    await prometheus?.stop();
    await secondApi?.stop();
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

  it('tells KEDA of one linked device, and so of one sender to spare', async () => {
    expect((await ask(readScalingQuery())).map(({ value }) => value[1])).to.deep.equal(['1001']);
  });

  it('sees no failures, and no reason for an alert', async () => {
    expect(await prometheus!.listFiring()).to.deep.equal([]);
  });
});
