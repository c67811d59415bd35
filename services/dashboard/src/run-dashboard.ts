import { hkdfSync } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { FIRST_USER } from '@gateway/contracts/console/users';
import { defaultPace } from '@gateway/contracts/devices/pace';
import { systemClock } from '@gateway/runtime/clock';
import type { ProcessHost } from '@gateway/runtime/process/process-host';
import { ensureFirstUser, setPassword } from '@gateway/store/console/users';
import { watchMasterOfRequests } from '@gateway/store/core/confirming/watch-master';
import { DoorbellListener } from '@gateway/store/core/doorbells';
import { awaitSchema, createStore, type Store } from '@gateway/store/core/store';
import { type DashboardConfig, simulatorOf } from './config.js';
import { createDashboardMetrics } from './dashboard-metrics.js';
import { createApp } from './http/app.js';
import { startHttpServer } from './http/http-server.js';
import { Heartbeat } from './live/heartbeat.js';
import { LiveHub } from './live/live-hub.js';
import { Pictures } from './pictures/pictures.js';
import { PublicApi } from './public-api.js';
import { PasswordTurns } from './sessions/password-turns.js';
import { OverviewReader } from './views/overview.js';

/** The Redis connections of the console: there is always a person waiting. */
export const DASHBOARD_CONNECTIONS = ['failFast', 'subscriber'] as const;

/** An office behind one address. */
const MAX_PER_ADDRESS = 250;

const PAGE_FOLDER = fileURLToPath(new URL('web', import.meta.url));

/** Builds the console top-down; each part says how it is stopped. */
export async function runDashboard(
  config: DashboardConfig,
  host: ProcessHost<(typeof DASHBOARD_CONNECTIONS)[number]>,
): Promise<void> {
  const { lifecycle, clients, registry } = host;
  const {
    DASHBOARD_WORKSPACE: workspace,
    API_URL: apiUrl,
    API_PUBLIC_URL: publicApiUrl,
    CONTENT_KEYS: contents,
  } = config;
  const logger = host.loggerOf('dashboard');
  const space = { prefix: config.KEY_PREFIX };
  const keyRings = { credentials: [], contents };
  const store = createStore({ redis: clients.failFast, space, keyRings, confirmWrites: host.confirmWrites });
  await awaitSchema(store, lifecycle);
  host.noteSettings(config);
  // No one was told of the password yet: the console starts without replicas.
  await makeFirstUser({ ...store, confirmWrites: async () => {} }, config.DASHBOARD_ADMIN_PASSWORD);

  const doorbells = await DoorbellListener.listen(clients.subscriber, space);
  lifecycle.add('doorbells of dashboard', async () => doorbells.close());
  const simulatorUrl = simulatorOf(config);
  const pace = defaultPace(config.PACE_PER_MINUTE);
  const { nowMs } = systemClock;
  const overview = new OverviewReader({ store, workspace, nowMs });
  const live = new LiveHub({ ...{ store, workspace, overview, doorbells, logger, nowMs }, defaultPace: pace });
  const app = createApp({
    ...{ store, standing: watchMasterOfRequests(host, store) },
    ...{ workspace, live, overview, publicApiUrl, logger, clock: systemClock, pageFolder: PAGE_FOLDER },
    heartbeat: new Heartbeat(),
    passwords: new PasswordTurns(),
    api: new PublicApi({ store, workspace, apiUrl, clock: systemClock }),
    defaultPace: pace,
    publicUrl: config.DASHBOARD_URL === undefined ? undefined : new URL(config.DASHBOARD_URL),
    ...{ simulatorUrl, pictures: new Pictures({ simulatorUrl, logger }) },
    allowsPlainHttp: config.DASHBOARD_ALLOW_HTTP,
    trustedProxies: config.TRUST_PROXY,
    cookieSecrets: contents.map(({ key }) => deriveCookieSecret(key)),
    metrics: createDashboardMetrics(registry, { countStreams: () => live.streams }),
  });
  const server = await startHttpServer(app, {
    ...{ host: config.DASHBOARD_HOST, port: config.DASHBOARD_PORT },
    // All that a proxy hands on comes from its own address.
    ...(config.TRUST_PROXY === 0 && { maxPerAddress: MAX_PER_ADDRESS }),
  });
  lifecycle.add('http server of dashboard', () => server.close());
  lifecycle.add('live streams', async () => live.close());
  logger.info('dashboard listens', { host: config.DASHBOARD_HOST, port: server.port, opsPort: host.opsPort });
}

async function makeFirstUser(store: Store, password: string | undefined): Promise<void> {
  const isNew = (await ensureFirstUser(store)) !== undefined;
  if (isNew && password !== undefined) await setPassword(store, FIRST_USER, password);
}

/** The same on every replica. What it signs is 256 random bits: the signature only spares Redis a look at made-up ones. */
function deriveCookieSecret(key: Buffer): string {
  return Buffer.from(hkdfSync('sha256', key, '', 'console session cookie', 32)).toString('base64url');
}
