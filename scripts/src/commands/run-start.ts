import { parseArgs } from 'node:util';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { launcherConfig } from '../config.js';
import { chooseNetwork, type Network } from '../gateway/choose-network.js';
import { createSignInLink } from '../gateway/create-sign-in-link.js';
import { type LocalEnvironment, openLocalEnvironment } from '../gateway/local-environment.js';
import { refuseTakenPorts, type WantedPort } from '../gateway/refuse-taken-ports.js';
import { forgetRunningGateway, readRunningGateway, writeRunningGateway } from '../gateway/running-gateway.js';
import { ALL_IN_ONE, type RunningGateway, startGateway } from '../gateway/start-gateway.js';
import { type RunningSimulator, simulatorEnvironment, startSimulator } from '../gateway/start-simulator.js';

const STOPPED = new Promise<never>(() => {});

/** `npm start [-- --simulator]`: the whole gateway on this machine, until Ctrl-C. With a `MESSENGER_URL` on this host, on the stand-in there. */
export async function runStart(args: string[], lifecycle: Lifecycle): Promise<number> {
  const { values } = parseArgs({ args, options: { simulator: { type: 'boolean', default: false } } });
  refuseSecond();
  const network = chooseNetwork({ ...launcherConfig, ...values });
  await refuseTakenPorts(wantedPorts(network));
  const local = await openLocalEnvironment(lifecycle, network);
  const simulator = network.kind === 'simulator' ? await startRememberingSimulator(lifecycle, local) : undefined;
  const { apiHost, apiPort, opsPort, dashboardPort } = launcherConfig;
  const env = { ...local.env, ...networkEnvironment(simulator), DASHBOARD_PORT: String(dashboardPort) };
  writeRunningGateway({ pid: process.pid, network: network.kind, env });
  lifecycle.add('state file', async () => forgetRunningGateway());
  const gateway = await startGateway(lifecycle, {
    ...{ env, apiHost, apiPort, dashboardPort },
    processes: [{ ...ALL_IN_ONE, opsPort }],
    output: () => 'inherit',
  });
  const link = await createSignInLink(lifecycle, env);
  console.log(describe(gateway, { local, network, simulator, link }));
  return Promise.race([gateway.ended, simulator?.ended ?? STOPPED]);
}

function refuseSecond(): void {
  const running = readRunningGateway();
  if (!running) return;
  const message = `A gateway runs here already (process ${running.pid}). Stop it first.`;
  throw new GatewayError({ code: 'already_running', message });
}

function wantedPorts({ kind }: Network): WantedPort[] {
  const host = '127.0.0.1';
  const { apiHost, apiPort, dashboardPort, simulatorPort } = launcherConfig;
  const api = { what: 'the API', host: apiHost, port: apiPort, setting: 'API_PORT' };
  const dashboard = { what: 'the console', host, port: dashboardPort, setting: 'DASHBOARD_PORT' };
  const ops = { what: 'the health of the gateway', host, port: launcherConfig.opsPort, setting: 'OPS_PORT' };
  const simulator = { what: 'the simulator', host, port: simulatorPort, setting: 'SIMULATOR_PORT' };
  return [api, dashboard, ops, ...(kind === 'simulator' ? [simulator] : [])];
}

/** What was linked stays linked over a restart, as with the real network. */
function startRememberingSimulator(lifecycle: Lifecycle, { folder }: LocalEnvironment): Promise<RunningSimulator> {
  const env = { SIMULATOR_STATE_FILE: `${folder}/network-state`, SIMULATOR_PORT: String(launcherConfig.simulatorPort) };
  return startSimulator(lifecycle, { env, onLine: console.log });
}

/** For `npm run cli` in another terminal, which does not see the variables of this one. */
function networkEnvironment(simulator: RunningSimulator | undefined): Record<string, string> {
  if (simulator) return simulatorEnvironment(simulator);
  const { messengerUrl, messengerTrust } = launcherConfig;
  return {
    ...(messengerUrl && { MESSENGER_URL: messengerUrl }),
    ...(messengerTrust && { MESSENGER_TRUST: messengerTrust }),
  };
}

interface Started {
  local: LocalEnvironment;
  network: Network;
  simulator: RunningSimulator | undefined;
  /** Signs in to the console, once. */
  link: string;
}

function describeNetwork({ network, simulator }: Started): string {
  if (simulator) return `the simulator, controlled at ${simulator.adminUrl}/admin`;
  if (network.kind === 'standIn') return `a stand-in on this host, at ${network.url}: no phone gets anything`;
  return 'the real one: mind your pace';
}

function describe({ baseUrl, opsUrls }: RunningGateway, started: Started): string {
  const { local } = started;
  const lines = [
    '',
    'The gateway is running. Ctrl-C stops it.',
    '',
    `  Console   ${started.link}`,
    '            (that signs in as admin, once, within ten minutes; for another: npm run cli -- user link)',
    `  API       ${baseUrl}, described at ${baseUrl}/docs`,
    `  Network   ${describeNetwork(started)}`,
    `  Data      ${local.data}`,
    ...opsUrls.map(({ url }) => `  Health    ${url}/readyz and /metrics`),
    '',
    'Next, in another terminal:',
    '',
    '  npm run cli -- token create --name my-app     makes an API token, and shows it once',
    ...linkingSteps(baseUrl, started),
    `  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/status`,
    '',
  ];
  return lines.join('\n');
}

function linkingSteps(baseUrl: string, { network, simulator }: Started): string[] {
  if (simulator) return linkWithSimulator(baseUrl, simulator);
  return network.kind === 'standIn' ? linkWithStandIn(baseUrl) : linkWithPhone(baseUrl);
}

function linkWithStandIn(baseUrl: string): string[] {
  return [
    `  curl -H "Authorization: Bearer $TOKEN" "${baseUrl}/connect?rawQrCode=true"`,
    '     then give the qrCode of the answer to the stand-in',
  ];
}

function linkWithPhone(baseUrl: string): string[] {
  return [
    `  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/connect`,
    '     then open the qrCode of the answer in a browser, and scan it: Settings, Linked devices',
  ];
}

/** By an 8-character code: the network of 2026 wants a QR code to be scanned twice. */
function linkWithSimulator(baseUrl: string, { adminUrl }: RunningSimulator): string[] {
  return [
    `  curl -H "Authorization: Bearer $TOKEN" "${baseUrl}/connect?method=pairingCode&phoneNumber=999100000001"`,
    `  curl -d '{"number":"999100000001","code":"<the pairingCode of the answer>"}' ${adminUrl}/admin/mock-phone/enter-code`,
    '     or scan the QR code of /connect: see docs/api.md',
  ];
}
