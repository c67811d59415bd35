import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { FIRST_USER, type UserRole } from '@gateway/contracts/console/users';
import { defaultPace } from '@gateway/contracts/devices/pace';
import type { DashboardDeps } from '@gateway/dashboard/dashboard-deps';
import { createDashboardMetrics } from '@gateway/dashboard/dashboard-metrics';
import { createApp } from '@gateway/dashboard/http/app';
import { startHttpServer } from '@gateway/dashboard/http/http-server';
import { Heartbeat } from '@gateway/dashboard/live/heartbeat';
import { LiveHub } from '@gateway/dashboard/live/live-hub';
import { Pictures } from '@gateway/dashboard/pictures/pictures';
import { PublicApi } from '@gateway/dashboard/public-api';
import { PasswordTurns } from '@gateway/dashboard/sessions/password-turns';
import { OverviewReader } from '@gateway/dashboard/views/overview';
import { systemClock } from '@gateway/runtime/clock';
import { createLogger, type Logger } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { createUser, ensureFirstUser } from '@gateway/store/console/users';
import { DoorbellListener } from '@gateway/store/core/doorbells';
import { createStore, type Store } from '@gateway/store/core/store';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { openRedisSpace, type RedisSpace, readKeyRings } from '@gateway/testkit/redis-space';
import { standIn } from '@gateway/testkit/stand-in';
import { startTestApi, type TestApi, type TestApiOptions } from '../../../api/test/support/test-api.js';

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  body: any;
}

export interface CallOptions {
  json?: unknown;
  /** A body as it is. */
  raw?: string;
  headers?: Record<string, string>;
}

/** A browser that keeps the cookie it is given, and says where its requests come from. */
export class Browser {
  cookie: string | undefined;

  constructor(readonly port: number) {}

  /** @param path below `/console/api`, unless it begins with `//`. */
  async call(method: string, path: string, { json, headers }: CallOptions = {}): Promise<Answer> {
    const answer = await this.send(method, path.startsWith('//') ? path.slice(1) : `/console/api${path}`, {
      ...(json !== undefined && { json }),
      headers: { 'sec-fetch-site': 'same-origin', ...headers },
    });
    const [set] = answer.headers['set-cookie'] ?? [];
    if (set) this.cookie = set.split(';')[0]!;
    return answer;
  }

  post(path: string, json: unknown = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call('POST', path, { json, headers });
  }

  get(path: string): Promise<Answer> {
    return this.call('GET', path);
  }

  send(method: string, path: string, { json, raw, headers }: CallOptions): Promise<Answer> {
    const body = json === undefined ? raw : JSON.stringify(json);
    const all = {
      ...(this.cookie !== undefined && { cookie: this.cookie }),
      ...(body !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
      }),
      ...headers,
    };
    return new Promise((resolve, reject) => {
      const sent = request({ port: this.port, host: '127.0.0.1', method, path, headers: all }, async (response) => {
        const said = await text(response);
        const isJson = response.headers['content-type']?.startsWith('application/json');
        const parsed = isJson ? JSON.parse(said) : undefined;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: said, body: parsed });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

export interface TestDashboard {
  port: number;
  origin: string;
  store: Store;
  /** A browser of its own, signed in by a link as a user of this role, who is made for it. */
  signIn(role?: UserRole): Promise<Browser>;
  close(): Promise<void>;
}

export interface TestDashboardOptions {
  redisUrl?: string;
  apiUrl?: string;
  publicUrl?: string;
  /** On a simulated network. */
  simulatorUrl?: string;
  allowsPlainHttp?: boolean;
  /** Of devices without a pace of their own; 0, which is the default, is without a limit. */
  pacePerMinute?: number;
  /** The built page in place of one line of HTML. */
  pageFolder?: string;
  /** How often live streams beat, and sessions are looked at for it. */
  beatMs?: number;
  standing?: DashboardDeps['standing'];
  logger?: Logger;
}

/** One replica of the console on a port of its own, over the same Redis space as the test. */
export async function startTestDashboard(
  space: RedisSpace,
  options: TestDashboardOptions = {},
): Promise<TestDashboard> {
  const logger = options.logger ?? createLogger({ service: 'dashboard', level: 'error' });
  const clients = createRedisClients({
    url: options.redisUrl ?? space.url,
    logger,
    purposes: ['failFast', 'subscriber'],
  });
  await clients.waitForReady();
  const keySpace = { prefix: space.prefix };
  const store = createStore({
    redis: clients.failFast,
    space: keySpace,
    keyRings: { credentials: [], contents: readKeyRings(space.keySettings).contents },
  });
  await createWorkspace(store, 'main');
  await ensureFirstUser(store);
  const doorbells = await DoorbellListener.listen(clients.subscriber, keySpace);
  const pace = defaultPace(options.pacePerMinute ?? 0);
  const { nowMs } = systemClock;
  const overview = new OverviewReader({ store, workspace: 'main', nowMs });
  const live = new LiveHub({ ...{ store, workspace: 'main', overview, doorbells, logger, nowMs }, defaultPace: pace });
  const stub = options.pageFolder === undefined ? makePage() : undefined;
  const apiUrl = options.apiUrl ?? 'http://127.0.0.1:9';
  const server = await startHttpServer(
    createApp({
      ...{
        store,
        standing: options.standing,
        workspace: 'main',
        live,
        overview,
        publicApiUrl: apiUrl,
        logger,
        clock: systemClock,
        trustedProxies: 0,
      },
      heartbeat: new Heartbeat(options.beatMs),
      passwords: new PasswordTurns(),
      api: new PublicApi({ store, workspace: 'main', apiUrl, clock: systemClock }),
      defaultPace: pace,
      publicUrl: options.publicUrl === undefined ? undefined : new URL(options.publicUrl),
      simulatorUrl: options.simulatorUrl,
      pictures: new Pictures({ simulatorUrl: options.simulatorUrl, logger }),
      allowsPlainHttp: options.allowsPlainHttp ?? false,
      cookieSecrets: ['a secret of this test'],
      pageFolder: options.pageFolder ?? stub!,
      metrics: createDashboardMetrics(createMetrics(), { countStreams: () => live.streams }),
    }),
    { host: '127.0.0.1', port: 0 },
  );
  return {
    ...{ port: server.port, origin: `http://127.0.0.1:${server.port}`, store },
    async signIn(role = 'admin') {
      const name = role === 'admin' ? FIRST_USER : role;
      if (role !== 'admin') await createUser(store, name, role);
      const browser = new Browser(server.port);
      await browser.post('/sign-in/link', { secret: await createOneTimeLink(store, name) });
      return browser;
    },
    async close() {
      live.close();
      await server.close();
      doorbells.close();
      await clients.close();
      if (stub !== undefined) rmSync(stub, { recursive: true });
    },
  };
}

/** In place of what Vite builds: a line of HTML, and a file with a name that never changes. */
function makePage(): string {
  const folder = mkdtempSync(join(tmpdir(), 'console-page-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<script nonce="__CSP_NONCE__" src="/console/assets/a.js"></script>');
  writeFileSync(join(folder, 'assets/a.js'), '1');
  return folder;
}

/**
 * A console on a Redis space of its own for all tests of a `describe`.
 * @param api of the API behind it; without them there is none.
 */
export function useTestDashboard({ api, ...options }: TestDashboardOptions & { api?: TestApiOptions } = {}): {
  readonly space: RedisSpace;
  readonly dashboard: TestDashboard;
  readonly api: TestApi;
} {
  const parts = {} as { space: RedisSpace; dashboard: TestDashboard; api?: TestApi };
  before(async () => {
    parts.space = await openRedisSpace();
    if (api) parts.api = await startTestApi(parts.space, api);
    parts.dashboard = await startTestDashboard(parts.space, {
      ...options,
      ...(parts.api && { apiUrl: parts.api.origin }),
    });
  });
  after(async () => {
    await parts.dashboard.close();
    await parts.api?.close();
    await parts.space.close();
  });
  return {
    ...{ space: standIn(() => parts.space), dashboard: standIn(() => parts.dashboard) },
    api: standIn(() => parts.api!),
  };
}
