import { parseArgs } from 'node:util';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/lifecycle';
import { launcherConfig } from '../config.js';
import { type LocalEnvironment, openLocalEnvironment } from '../local-environment.js';
import { forgetRunningGateway, readRunningGateway, writeRunningGateway } from '../running-gateway.js';
import { startGateway } from '../start-gateway.js';
import { type RunningSimulator, simulatorEnvironment, startSimulator } from '../start-simulator.js';

const STOPPED = new Promise<never>(() => {});

/** `npm start [-- --simulator]`: the whole gateway on this machine, until Ctrl-C. */
export async function runStart(args: string[], lifecycle: Lifecycle): Promise<number> {
  const { values } = parseArgs({ args, options: { simulator: { type: 'boolean', default: false } } });
  refuseSecond();
  const local = await openLocalEnvironment(lifecycle, values);
  const simulator = values.simulator ? await startRememberingSimulator(lifecycle, local) : undefined;
  const env = { ...local.env, ...(simulator && simulatorEnvironment(simulator)) };
  writeRunningGateway({ pid: process.pid, env });
  lifecycle.add('state file', async () => forgetRunningGateway());
  const gateway = await startGateway(lifecycle, {
    env,
    apiHost: launcherConfig.apiHost,
    apiPort: launcherConfig.apiPort,
    output: () => 'inherit',
  });
  console.log(describe(gateway.baseUrl, local, simulator));
  return Promise.race([gateway.ended, simulator?.ended ?? STOPPED]);
}

function refuseSecond(): void {
  const running = readRunningGateway();
  if (!running) return;
  const message = `A gateway runs here already (process ${running.pid}). Stop it first.`;
  throw new GatewayError({ code: 'already_running', message });
}

/** What was linked stays linked over a restart, as with the real network. */
function startRememberingSimulator(lifecycle: Lifecycle, { folder }: LocalEnvironment): Promise<RunningSimulator> {
  const env = { SIMULATOR_STATE_FILE: `${folder}/network-state` };
  return startSimulator(lifecycle, { env, onLine: console.log });
}

function describe(baseUrl: string, { data }: LocalEnvironment, simulator: RunningSimulator | undefined): string {
  const network = simulator
    ? `the simulator, controlled at ${simulator.adminUrl}/admin`
    : 'the real one: mind your pace';
  const lines = [
    '',
    'The gateway is running. Ctrl-C stops it.',
    '',
    `  API       ${baseUrl}`,
    `  Network   ${network}`,
    `  Data      ${data}`,
    '',
    'Next, in another terminal:',
    '',
    '  npm run cli -- token create --name my-app     makes an API token, and shows it once',
    ...(simulator ? linkWithSimulator(baseUrl, simulator) : linkWithPhone(baseUrl)),
    `  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/status`,
    '',
  ];
  return lines.join('\n');
}

function linkWithPhone(baseUrl: string): string[] {
  return [
    `  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/connect`,
    '     then open the qrCode of the answer in a browser, and scan it: Settings, Linked devices',
  ];
}

function linkWithSimulator(baseUrl: string, { adminUrl }: RunningSimulator): string[] {
  return [
    `  curl -H "Authorization: Bearer $TOKEN" "${baseUrl}/connect?rawQrCode=true"`,
    `  curl -H 'Content-Type: text/plain' --data "$QR" "${adminUrl}/admin/mock-phone/scan-qr?number=999100000001"`,
  ];
}
