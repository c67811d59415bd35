import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RATE_LIMITS } from '@gateway/contracts/limits';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import type { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { useGateway } from '@gateway/testkit/use-gateway';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import {
  ALERTS_OF_CLUSTERS,
  readDashboards,
  readRuleFiles,
  readRules,
  readScalingQuery,
} from './support/read-queries.js';
import { type Prometheus, startPrometheus } from './support/start-prometheus.js';

const ACCOUNT = '491700000071';
const PEOPLE = makeNumbers(40, 71);
const REFUSED = makeNumbers(3, 72);
const [LOGGED_OUT, CONNECTING] = makeNumbers(2, 73) as [string, string];
const DAY_MS = 86_400_000;

/** What there is more than 0 of by the end. */
const HAPPENED = [
  'increase(gateway:recipients_failed:max[5m])',
  'increase(gateway_rate_limited_requests_total[5m])',
  'increase(gateway_attachment_url_refusals_total[5m])',
  'increase(gateway_disconnects_total[5m])',
  'increase(gateway_webhook_attempts_total{outcome="server_error"}[5m])',
  'increase(gateway_claim_to_ack_duration_seconds_count{outcome!="accepted"}[5m])',
  'increase(gateway_events_relayed_total[5m])',
  'gateway_webhook_failing_seconds',
  'gateway_devices{state="connecting"}',
  'gateway_devices{state="disconnected"}',
];
/** `up{job="x"}`, without what is done with it. */
const SELECTORS = /\b(?:gateway[_:][\w:]+|up|nodejs_\w+|process_\w+)(?:\{[^}]*\})?/g;

describe('a Prometheus that looks at two of each service, which send', () => {
  const env = { WEBHOOK_NETWORKS: '127.0.0.1/32' };
  const fixture = useGateway({ senders: 2, connections: 2, readyMs: 90_000, env });
  /** Of webhooks: answers what the path says. */
  const receiver = createServer((req, res) => res.writeHead(Number(req.url!.slice(1))).end());
  let secondApi: ServiceProcess | undefined;
  let prometheus: Prometheus | undefined;
  const ask = (expr: string) => prometheus!.ask(expr);

  before(async () => {
    const { gateway, simulator, space } = fixture;
    secondApi = await gateway.addApi();
    await Promise.all([gateway.addEvents(), gateway.addEvents()]);
    const services = [gateway.api, secondApi, ...gateway.senders, ...gateway.connections, ...gateway.events];
    prometheus = await startPrometheus({ services, rules: readRuleFiles(), everySeconds: 1 });
    simulator.network.settings.clientExpirationMs = Date.now() + 90 * DAY_MS;
    await gateway.link(ACCOUNT);
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    const { port } = receiver.address() as AddressInfo;
    await createActiveWebhook(space.store, `http://127.0.0.1:${port}/204`);
    const messageId = await fixture.send(PEOPLE, 'to be seen in the metrics');
    const otp = await gateway.call('POST', '/otp', { body: { phone: PEOPLE[0], code: '482913', language: 'English' } });
    expect(otp.status).to.equal(200);
    await gateway.waitForSend(messageId, { read: PEOPLE.length });
    // A survey later, Prometheus knows all of it.
    const isKnown = async () => Number((await ask('sum(gateway:recipients_reached:max{status="read"})'))[0]?.value[1]);
    await eventually(async () => (await isKnown()) === PEOPLE.length + 1, { everyMs: 500 });
    await eventually(async () => (await ask('gateway:slo_bad:ratio3d')).length === 4);
  });
  after(async () => {
    receiver.close();
    receiver.closeAllConnections();
    await prometheus?.stop();
    await secondApi?.stop();
  });

  it('finds every series that an alert asks for', async () => {
    const alerts = readRules().filter(({ alert }) => alert !== undefined && !ALERTS_OF_CLUSTERS.includes(alert));
    const selectors = new Set(alerts.flatMap(({ expr }) => expr.match(SELECTORS) ?? []));
    const empty: string[] = [];
    for (const selector of selectors) {
      if ((await ask(selector)).length === 0) empty.push(selector);
    }
    expect(empty).to.deep.equal([]);
  });

  it('tells KEDA of one linked device, and so of one sender to spare', async () => {
    expect((await ask(readScalingQuery())).map(({ value }) => value[1])).to.deep.equal(['1001']);
  });

  it('sees no failures, and no reason for an alert', async () => {
    expect(await prometheus!.listFiring()).to.deep.equal([]);
  });

  it('finds data for each query of a dashboard and each recorded rule, when not all is well', async () => {
    const { gateway, simulator, space, send } = fixture;
    const { faults } = simulator.network;
    await gateway.link(LOGGED_OUT, 'logged-out');
    await gateway.link(CONNECTING, 'connecting');
    const end = (number: string, code: number) => {
      for (const { connection } of simulator.network.accounts.find(number)!.devices.values())
        connection?.endStream(code);
    };
    end(LOGGED_OUT, 401);
    faults.add({ on: 'login', match: { account: CONNECTING }, do: { silent: true } });
    end(CONNECTING, 515);
    for (const recipient of REFUSED) faults.add({ on: 'message', match: { recipient }, do: { ackError: 403 } });
    const { port } = receiver.address() as AddressInfo;
    await createActiveWebhook(space.store, `http://127.0.0.1:${port}/503`);
    await send(REFUSED, 'refused by the network');
    // Callers who are refused: by our networks, and by the rate limit.
    const url = 'http://169.254.169.254/latest';
    const inside = { to: PEOPLE[0], attachment: { type: 'document', url } };
    expect((await gateway.call('POST', '/send', { body: inside })).status).to.equal(400);
    const answers = await Promise.all(
      Array.from({ length: RATE_LIMITS.status + 1 }, () => gateway.call('GET', '/status')),
    );
    expect(answers.map(({ status }) => status)).to.include(429);
    const recorded = readRules().filter(({ record }) => record !== undefined);
    const panels = readDashboards().flatMap((dashboard) => dashboard.panels);
    const shown = panels.flatMap(({ targets }) => targets);
    const isEmpty = async (expr: string) => (await ask(expr)).length === 0;
    await eventually(
      async () => {
        const empty: string[] = [];
        for (const { expr } of [...recorded, ...shown]) if (await isEmpty(expr)) empty.push(expr);
        if (empty.length > 0) throw new Error(`no data: ${empty.join('; ')}`);
        for (const expr of HAPPENED) {
          if (!(Number((await ask(`sum(${expr})`))[0]?.value[1]) > 0)) throw new Error(`nothing: ${expr}`);
        }
        return true;
      },
      { everyMs: 1_000 },
    );
    const undocumented: string[] = [];
    for (const { title, description = '', targets } of panels) {
      const values = (await Promise.all(targets.map(({ expr }) => ask(expr)))).flat();
      if (values.some(({ value }) => Number(value[1]) === 0) && !/\b0\b/.test(description)) undocumented.push(title);
    }
    expect(undocumented, 'show a 0 and do not say what it means').to.deep.equal([]);
  });
});
