import { deriveStatus } from '@gateway/contracts/devices/device-state';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { StatusCounts } from '@gateway/contracts/sends/statuses';
import { sleep } from '@gateway/runtime/clock';
import type { Simulator } from '@gateway/simulator/start-simulator';
import type { Store } from '@gateway/store/core/store';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { hasSender } from '@gateway/store/fleet/members';
import { readSend } from '@gateway/store/sends/read-send';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually, PATIENCE_MS } from './eventually.js';
import { ServiceProcess } from './processes/service-process.js';
import type { RedisSpace } from './redis-space.js';
import { scanCodes } from './scan-codes.js';

/** `/messages` answers a caller once a second. */
const LOOK_AGAIN_MS = 1_050;

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  body: any;
}

export interface GatewayOptions {
  space: RedisSpace;
  /** In this process or in another. */
  simulator: Pick<Simulator, 'socketUrl' | 'adminUrl' | 'rootPublicKeyHex'>;
  /** Default 1. */
  senders?: number;
  /** Processes of the connection service. Default 1. */
  connections?: number;
  /** One process with all roles, in place of one for each. */
  inOneProcess?: boolean;
  /** How long a process may take until it is ready. Default: as `ServiceProcess.start` has it. */
  readyMs?: number;
  /** Settings of every service, beside those that the test run needs. */
  env?: Record<string, string>;
}

/** The whole gateway, each service in a process of its own, against a simulator. */
export class Gateway {
  readonly senders: ServiceProcess[] = [];
  readonly connections: ServiceProcess[] = [];
  readonly events: ServiceProcess[] = [];
  api!: ServiceProcess;
  /** Of the API, with its version. */
  baseUrl = '';
  private readonly tokens = new Map<string, string>();

  private readonly options: GatewayOptions;

  private constructor(options: GatewayOptions) {
    this.options = { ...options };
  }

  static async start(options: GatewayOptions): Promise<Gateway> {
    const gateway = new Gateway(options);
    await gateway.startAgain();
    return gateway;
  }

  /** With the settings of before, when all of it has ended. */
  async startAgain(): Promise<void> {
    await this.startAll();
    this.baseUrl = await baseUrlOf(this.api);
  }

  /** All at once; in the lists they keep their order, whichever is ready first. */
  private async startAll(): Promise<void> {
    const { connections = 1, senders = 1, inOneProcess } = this.options;
    if (inOneProcess) {
      this.api = await this.start('connection,sender,events,api', { ...this.env(), API_PORT: '0' });
      return;
    }
    const start = (service: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => this.start(service, this.env())));
    const [startedConnections, startedSenders, api] = await Promise.all([
      start('connection', connections),
      start('sender', senders),
      this.addApi(),
    ]);
    this.connections.push(...startedConnections);
    this.senders.push(...startedSenders);
    this.api = api;
  }

  async addSender(env: Record<string, string> = {}): Promise<ServiceProcess> {
    const sender = await this.start('sender', { ...this.env(), ...env });
    this.senders.push(sender);
    return sender;
  }

  /** Brings what changes into the log of events; none runs unless it is asked for. */
  async addEvents(env: Record<string, string> = {}): Promise<ServiceProcess> {
    const process = await this.start('events', { ...this.env(), ...env });
    this.events.push(process);
    return process;
  }

  async addConnection(env: Record<string, string> = {}): Promise<ServiceProcess> {
    const connection = await this.start('connection', { ...this.env(), ...env });
    this.connections.push(connection);
    return connection;
  }

  /** Another api takes the place of the one that is called. */
  async replaceApi(env: Record<string, string> = {}): Promise<void> {
    const former = this.api;
    this.api = await this.addApi(env);
    this.baseUrl = await baseUrlOf(this.api);
    await former.stop();
  }

  /**
   * Gives every service these settings, besides those it has: new processes are started, which work beside the former ones,
   * and then those are stopped.
   */
  async roll(env: Record<string, string>): Promise<void> {
    this.options.env = { ...this.options.env, ...env };
    const former = this.processes();
    this.connections.length = 0;
    this.senders.length = 0;
    await this.startAgain();
    await Promise.all(former.map((running) => running.stop()));
  }

  /** Another replica, with settings of its own if wanted; to be stopped by its caller. */
  addApi(env: Record<string, string> = {}): Promise<ServiceProcess> {
    return this.start('api', { ...this.env(), ...env, CREDENTIAL_KEYS: '', API_PORT: '0' });
  }

  /** Which of the processes holds a device. */
  async findOwner(device = 'default'): Promise<ServiceProcess | undefined> {
    const { store } = this.options.space;
    const ownership = await store.redis.get(deviceKeys(store.space, { workspace: 'main', device }).owner);
    return [...this.senders, ...this.connections].find(({ logs }) =>
      logs.some(({ processId }) => processId && ownership?.startsWith(`${processId}.`)),
    );
  }

  /** Everything that the services have logged so far. */
  logs(): Record<string, unknown>[] {
    return this.processes().flatMap(({ logs }) => logs);
  }

  /** What `/metrics` of every running service says. */
  async metrics(): Promise<string[]> {
    const running = this.processes().filter(({ isRunning }) => isRunning);
    return Promise.all(running.map((service) => service.metrics()));
  }

  /** Calls the public API with the token of a device. */
  async call(
    method: string,
    path: string,
    { device = 'default', body, headers }: { device?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const response = await fetch(`${this.baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await this.tokenOf(device)}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  /** Links a device by QR code, scanned by the simulated phone of `number`, and waits until it is connected. */
  async link(number: string, device = 'default'): Promise<void> {
    // A sender is ready once it runs, and in the fleet a moment later.
    await eventually(() => hasSender(this.options.space.store), { what: 'a sender in the fleet' });
    const { body } = await this.call('POST', '/connect?rawQrCode=true', { device });
    if (!body.qrCode) throw new Error(`no QR code: ${JSON.stringify(body)}`);
    await this.scan(number, body.qrCode, device);
    await this.waitForStatus('connected', device);
  }

  /** Scans the code of a device with the simulated phone of `number`, and the one that the network wants scanned after it. */
  async scan(number: string, code: string, device = 'default'): Promise<void> {
    const { simulator, space } = this.options;
    const nextCode = (before: string) => codeAfter(space.store, { workspace: 'main', device }, before);
    await scanCodes({ adminUrl: simulator.adminUrl, number, nextCode }, code);
  }

  /** Asks the API only when Redis has the status already: `/status` has a rate limit. */
  async waitForStatus(status: string, device = 'default', timeoutMs = PATIENCE_MS): Promise<Answer['body']> {
    const { store } = this.options.space;
    return eventually(
      async () => {
        const { desired, observed, isOwned } = await readDeviceState(store, { workspace: 'main', device });
        if (deriveStatus(desired, observed, isOwned).status !== status) return false;
        const { body } = await this.call('GET', '/status', { device });
        return body.status === status && body;
      },
      { timeoutMs, what: `status ${status}` },
    );
  }

  /**
   * What the API says of a send once it counts as many recipients as wanted. It is asked only when Redis says so
   * already: `/messages` has a limit.
   */
  async waitForSend(
    messageId: string,
    wanted: Partial<StatusCounts>,
    {
      device = 'default',
      query = '',
      timeoutMs = PATIENCE_MS,
    }: { device?: string; query?: string; timeoutMs?: number } = {},
  ): Promise<Answer['body']> {
    const { store } = this.options.space;
    const holds = (counts: StatusCounts) =>
      Object.entries(wanted).every(([status, count]) => counts[status as keyof StatusCounts] === count);
    return eventually(
      async () => {
        const send = await readSend(store, { workspace: 'main', device }, messageId);
        if (!send || !holds(send.counts)) return false;
        const { body } = await this.call('GET', `/messages/${messageId}${query}`, { device });
        if (body.counts && holds(body.counts)) return body;
        await sleep(LOOK_AGAIN_MS);
        return false;
      },
      { timeoutMs, everyMs: 40, what: JSON.stringify(wanted) },
    );
  }

  /** Stops every service. Throws when one had to be killed. */
  async close(): Promise<void> {
    const stopped = await Promise.all(this.processes().map((running) => running.stop()));
    if (stopped.includes(false)) throw new Error('a service did not stop when it was asked to');
  }

  private start(roles: string, env: Record<string, string>): Promise<ServiceProcess> {
    const { readyMs } = this.options;
    return ServiceProcess.start(roles, env, readyMs === undefined ? {} : { readyMs });
  }

  /** Those of its processes that live. */
  running(): ServiceProcess[] {
    return this.processes().filter(({ isRunning }) => isRunning);
  }

  private processes(): ServiceProcess[] {
    return [this.api, ...this.connections, ...this.senders, ...this.events].filter(Boolean);
  }

  async tokenOf(device: string): Promise<string> {
    const known = this.tokens.get(device);
    if (known) return known;
    const { value } = await createApiToken(this.options.space.store, 'main', { name: 'test', device });
    this.tokens.set(device, value);
    return value;
  }

  private env(): Record<string, string> {
    const { space, simulator } = this.options;
    return {
      REDIS_URL: space.url,
      KEY_PREFIX: space.prefix,
      ...space.keySettings,
      MESSENGER_URL: simulator.socketUrl,
      MESSENGER_TRUST: `root:${simulator.rootPublicKeyHex}`,
      ...this.options.env,
    };
  }
}

/** Of an API, with its version. */
export async function baseUrlOf(api: ServiceProcess): Promise<string> {
  const { port } = await api.waitForLog((line) => line.message === 'api listens');
  return `http://127.0.0.1:${port}/api/messenger/v1`;
}

/** The code that a device shows after this one, as soon as its owner has written it down. */
export function codeAfter(store: Store, address: DeviceAddress, before: string): Promise<string> {
  return eventually(
    async () => {
      const { observed } = await readDeviceState(store, address);
      return observed?.code !== undefined && observed.code !== before && observed.code;
    },
    { what: 'another code' },
  );
}
