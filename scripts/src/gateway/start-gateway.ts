import { sleep, systemClock } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { type ChildOptions, failWhenEnded, startChild } from '../child-process.js';
import { findFreePort } from './find-free-port.js';

export const SERVICES = ['connection', 'sender', 'api'] as const;
export type Service = (typeof SERVICES)[number];

export interface GatewayOptions {
  /** What the services get: `REDIS_URL`, `MESSENGER_URL` and so on; all but the API `CREDENTIAL_KEYS`, too. */
  env: Record<string, string>;
  apiHost: string;
  apiPort: number;
  /** Any free ones without them. */
  opsPorts?: Record<Service, number>;
  output: (service: Service) => ChildOptions['output'];
}

export interface RunningGateway {
  baseUrl: string;
  /** Where `/readyz` and `/metrics` of each service are. */
  opsUrls: Record<Service, string>;
  /** Rejects as soon as one of them ends by itself. */
  ended: Promise<never>;
}

const READY_TIMEOUT_MS = 30_000;

/** Starts api, connection and sender as processes of their own, as in production, and waits until all are ready. */
export async function startGateway(lifecycle: Lifecycle, options: GatewayOptions): Promise<RunningGateway> {
  const { apiHost, apiPort } = options;
  const started = await Promise.all(SERVICES.map((service) => startService(lifecycle, service, options)));
  const ended = Promise.race(started.map((service) => service.ended));
  ended.catch(() => {});
  await Promise.race([Promise.all(started.map(waitUntilReady)), ended]);
  const opsUrls = Object.fromEntries(started.map(({ service, opsUrl }) => [service, opsUrl])) as Record<
    Service,
    string
  >;
  return { baseUrl: `http://${apiHost}:${apiPort}/api/messenger/v1`, opsUrls, ended };
}

interface StartedService {
  service: Service;
  opsUrl: string;
  ended: Promise<never>;
}

async function startService(lifecycle: Lifecycle, service: Service, options: GatewayOptions): Promise<StartedService> {
  const opsPort = options.opsPorts?.[service] ?? (await findFreePort());
  const child = startChild(lifecycle, {
    name: service,
    module: `services/${service}/dist/main.js`,
    env: {
      ...options.env,
      OPS_HOST: '127.0.0.1',
      OPS_PORT: String(opsPort),
      ...(service === 'api' && { CREDENTIAL_KEYS: '', API_HOST: options.apiHost, API_PORT: String(options.apiPort) }),
    },
    output: options.output(service),
  });
  return { service, opsUrl: `http://127.0.0.1:${opsPort}`, ended: failWhenEnded(service, child, lifecycle) };
}

async function waitUntilReady({ service, opsUrl }: StartedService): Promise<void> {
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
    message: `${service} is not ready after ${READY_TIMEOUT_MS / 1000} s: ${answer}`,
  });
}
