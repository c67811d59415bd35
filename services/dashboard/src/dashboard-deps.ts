import type { Pace } from '@gateway/contracts/devices/pace';
import type { Workspace } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Standing } from '@gateway/store/core/confirming/standing';
import type { Store } from '@gateway/store/core/store';
import type { DashboardMetrics } from './dashboard-metrics.js';
import type { Heartbeat } from './live/heartbeat.js';
import type { LiveHub } from './live/live-hub.js';
import type { Pictures } from './pictures/pictures.js';
import type { PublicApi } from './public-api.js';
import type { PasswordTurns } from './sessions/password-turns.js';
import type { OverviewReader } from './views/overview.js';

/** What the console stands on. Its Redis client fails fast: there is always a person waiting. */
export interface DashboardDeps {
  store: Store;
  /** Of its master; see `watchMasterOfRequests`. */
  standing?: Pick<Standing, 'assert'> | undefined;
  workspace: Workspace;
  api: PublicApi;
  live: LiveHub;
  overview: OverviewReader;
  heartbeat: Heartbeat;
  passwords: PasswordTurns;
  /** Where programs find the API, without a path. */
  publicApiUrl: string;
  /** Where the phones of a simulated network are. `undefined` on the real one. */
  simulatorUrl: string | undefined;
  /** Of devices without a pace of their own. */
  defaultPace: Pace;
  /** Where browsers see the console, if that is not this machine alone. */
  publicUrl: URL | undefined;
  allowsPlainHttp: boolean;
  /** Proxies whose `X-Forwarded-For` entries are believed. */
  trustedProxies: number;
  /** Sign the cookie: the first signs, all are believed. */
  cookieSecrets: readonly string[];
  /** Where the built page is. */
  pageFolder: string;
  /** Of accounts. */
  pictures: Pictures;
  metrics: DashboardMetrics;
  clock: Clock;
  logger: Logger;
}
