import { DEFAULT_WORKSPACE } from '@gateway/contracts/ids';
import {
  type GatewayConfig,
  gatewayKeys,
  type PaceConfig,
  paceKeys,
  port,
  refuseOpsPort,
} from '@gateway/runtime/config/gateway-config';
import { readConfig } from '@gateway/runtime/config/read-config';
import Joi from 'joi';

/** The settings of the console, each an environment variable of that name. */
export interface DashboardConfig extends GatewayConfig, PaceConfig {
  /** Address the console listens on. Default: this machine only; a container sets `0.0.0.0`. */
  DASHBOARD_HOST: string;
  /** Port the console listens on; 0 takes any free one. Default 3001. */
  DASHBOARD_PORT: number;
  /**
   * Where browsers see it, such as `https://console.example.com`: no other name is answered but those of this machine.
   * With `https:` cookies are for that only; what stands in front must set `X-Forwarded-Proto`.
   */
  DASHBOARD_URL?: string;
  /** Let people sign in over plain HTTP from other machines, where what they type can be read on its way. Default false. */
  DASHBOARD_ALLOW_HTTP: boolean;
  /** Of the user `admin`, when the first start makes it. Without it a one-time link signs in: `user link` of the command line. */
  DASHBOARD_ADMIN_PASSWORD?: string;
  /** Where the API is, for this process. Default: on this machine, at `API_PORT`. */
  API_URL: string;
  /** Where programs find the API, for the lines that the page shows. Default: `API_URL`. */
  API_PUBLIC_URL: string;
  /** Whose devices and tokens it shows. Default `default`. */
  DASHBOARD_WORKSPACE: string;
  /** How many proxies stand in front, each adding an entry to `X-Forwarded-For`. Default 0: the header is not believed. */
  TRUST_PROXY: number;
}

export const dashboardSettings = Joi.object<DashboardConfig & { API_PORT: number }>({
  ...gatewayKeys,
  ...paceKeys,
  API_PORT: port().default(3000),
  DASHBOARD_PORT: port().custom(refuseOpsPort).custom(refuseApiPort).default(3001),
  DASHBOARD_URL: Joi.string().uri({ scheme: ['http', 'https'] }),
  DASHBOARD_ALLOW_HTTP: Joi.boolean().default(false),
  // After those that its rule looks at.
  DASHBOARD_HOST: Joi.string().hostname().default('127.0.0.1').custom(refusePlainHttp),
  DASHBOARD_ADMIN_PASSWORD: Joi.string().min(10).max(200),
  API_URL: Joi.string()
    .uri({ scheme: ['http', 'https'] })
    .default(({ API_PORT }: { API_PORT: number }) => `http://127.0.0.1:${API_PORT}`),
  API_PUBLIC_URL: Joi.string()
    .uri({ scheme: ['http', 'https'] })
    .default(({ API_URL }: { API_URL: string }) => API_URL),
  DASHBOARD_WORKSPACE: Joi.string()
    .pattern(/^[a-z0-9-]{1,40}$/)
    .default(DEFAULT_WORKSPACE),
  TRUST_PROXY: Joi.number().integer().min(0).max(10).unit('proxies').default(0),
});

/** Throws an error that names every variable with a problem. */
export function readDashboardConfig(environment: NodeJS.ProcessEnv = process.env): DashboardConfig {
  return readConfig(dashboardSettings, environment);
}

/** The phones of a stand-in of the network, which has a root of its own and answers on one port. `undefined`: it is the real one. */
export function simulatorOf({ MESSENGER_URL, MESSENGER_TRUST }: PaceConfig): string | undefined {
  if (MESSENGER_TRUST.kind === 'production') return undefined;
  return new URL(MESSENGER_URL.replace(/^ws/, 'http')).origin;
}

/** The names by which only this machine knows itself. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(hostname);
}

/** The API is on this machine unless its address says otherwise. */
function refuseApiPort(number: number, helpers: Joi.CustomHelpers): number {
  const { API_PORT: apiPort, API_URL: url } = helpers.state.ancestors[0] as Partial<
    DashboardConfig & { API_PORT: number }
  >;
  if (url === undefined && number !== 0 && number === apiPort) throw new Error('must not be API_PORT');
  return number;
}

function refusePlainHttp(host: string, helpers: Joi.CustomHelpers): string {
  const { DASHBOARD_URL: url, DASHBOARD_ALLOW_HTTP: isAllowed } = helpers.state.ancestors[0] as DashboardConfig;
  if (isLoopback(host) || isAllowed || url?.startsWith('https:')) return host;
  throw new Error('must be of this machine, unless DASHBOARD_URL is https:// or DASHBOARD_ALLOW_HTTP is true');
}
