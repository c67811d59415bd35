import { sleep, systemClock } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { type ChildOptions, failWhenEnded, startChild } from '../child-process.js';
import { GATEWAY_MODULE } from '../paths.js';
import { findFreePort } from './find-free-port.js';

const SENDING_ROLES = ['connection', 'sender', 'events', 'api'] as const;
const ROLES = [...SENDING_ROLES, 'dashboard'] as const;
type Role = (typeof ROLES)[number];

/** One process of a gateway. */
export interface GatewayProcess {
  /** For people. */
  name: string;
  roles: readonly Role[];
  /** Where its `/readyz` and `/metrics` are. Any free port without it. */
  opsPort?: number;
  /** Under which it starts again; see `INSTANCE_NAME`. */
  instanceName?: string;
  /** Of Node. */
  nodeFlags?: readonly string[];
}

/** Each role in a process of its own, as in production: a crash, and the keys of accounts, stay where they are. */
export const A_PROCESS_EACH: readonly GatewayProcess[] = SENDING_ROLES.map((role) => ({ name: role, roles: [role] }));

/** The console in a process of its own. */
export const CONSOLE: GatewayProcess = { name: 'dashboard', roles: ['dashboard'] };

/** All roles in one process, which has its devices back as soon as it starts again after a crash. Half of the room for new objects that V8 takes otherwise: 15 MB less before the first device. */
export const ALL_IN_ONE: GatewayProcess = {
  name: 'gateway',
  roles: ROLES,
  instanceName: 'start',
  nodeFlags: ['--max-semi-space-size=8'],
};

export interface GatewayOptions {
  processes: readonly GatewayProcess[];
  /** What the processes get: `REDIS_URL`, `MESSENGER_URL` and so on; `CREDENTIAL_KEYS`, too, unless they are the API or the events service alone. */
  env: Record<string, string>;
  apiHost: string;
  apiPort: number;
  /** Of the console, if one of the processes has it. */
  dashboardPort?: number;
  output: (process: GatewayProcess) => ChildOptions['output'];
}

export interface RunningGateway {
  baseUrl: string;
  /** Where `/readyz` and `/metrics` of each process are. */
  opsUrls: { name: string; url: string }[];
  /** Rejects as soon as one of them ends by itself. */
  ended: Promise<never>;
}

const READY_TIMEOUT_MS = 30_000;

/** Starts the processes of a gateway, and waits until all are ready. */
export async function startGateway(lifecycle: Lifecycle, options: GatewayOptions): Promise<RunningGateway> {
  const { apiHost, apiPort, processes } = options;
  const started = await Promise.all(processes.map((process) => startProcess(lifecycle, process, options)));
  const ended = Promise.race(started.map((process) => process.ended));
  ended.catch(() => {});
  await Promise.race([Promise.all(started.map(waitUntilReady)), ended]);
  const opsUrls = started.map(({ name, opsUrl }) => ({ name, url: opsUrl }));
  return { baseUrl: `http://${apiHost}:${apiPort}/api/messenger/v1`, opsUrls, ended };
}

interface StartedProcess {
  name: string;
  opsUrl: string;
  ended: Promise<never>;
}

async function startProcess(
  lifecycle: Lifecycle,
  process: GatewayProcess,
  options: GatewayOptions,
): Promise<StartedProcess> {
  const { name, roles } = process;
  const opsPort = process.opsPort ?? (await findFreePort());
  const child = startChild(lifecycle, {
    name,
    module: GATEWAY_MODULE,
    nodeFlags: process.nodeFlags ?? [],
    env: {
      ...options.env,
      ROLES: roles.join(','),
      ...(process.instanceName !== undefined && { INSTANCE_NAME: process.instanceName }),
      OPS_HOST: '127.0.0.1',
      OPS_PORT: String(opsPort),
      API_HOST: options.apiHost,
      API_PORT: String(options.apiPort),
      ...(options.dashboardPort !== undefined && { DASHBOARD_PORT: String(options.dashboardPort) }),
      ...(roles.every((role) => role === 'api' || role === 'events') && { CREDENTIAL_KEYS: '' }),
    },
    output: options.output(process),
  });
  return { name, opsUrl: `http://127.0.0.1:${opsPort}`, ended: failWhenEnded(name, child, lifecycle) };
}

async function waitUntilReady({ name, opsUrl }: StartedProcess): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + READY_TIMEOUT_MS;
  let answer = 'no answer';
  while (systemClock.monotonicMs() < deadlineMs) {
    const response = await fetch(`${opsUrl}/readyz`).catch(() => undefined);
    if (response?.ok) return;
    if (response) answer = await response.text();
    await sleep(50);
  }
  throw new GatewayError({
    code: 'not_ready',
    message: `${name} is not ready after ${READY_TIMEOUT_MS / 1000} s: ${answer}`,
  });
}
