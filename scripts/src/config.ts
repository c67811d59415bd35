const API_PORT = Number(process.env.API_PORT || 3000);

/** What the launcher takes from its environment. Services read their own settings; these are passed on to them. */
export const launcherConfig = {
  /** Every variable, for the processes that are started. */
  environment: process.env,
  /** A Redis to use in place of one of our own. */
  redisUrl: process.env.REDIS_URL || undefined,
  credentialKeys: process.env.CREDENTIAL_KEYS || undefined,
  contentKeys: process.env.CONTENT_KEYS || undefined,
  /** Where the messenger network is to be; the real one without it. */
  messengerUrl: process.env.MESSENGER_URL || undefined,
  messengerTrust: process.env.MESSENGER_TRUST || undefined,
  keyPrefix: process.env.KEY_PREFIX || undefined,
  apiHost: process.env.API_HOST || '127.0.0.1',
  apiPort: API_PORT,
  /** Of the console. */
  dashboardPort: Number(process.env.DASHBOARD_PORT || API_PORT + 1),
  /** Of `npm start`: health and metrics. */
  opsPort: Number(process.env.OPS_PORT || API_PORT + 10),
  /** Of the simulator that `npm start -- --simulator` runs. */
  simulatorPort: Number(process.env.SIMULATOR_PORT || API_PORT + 20),
  /** Set when npm started us, and not a person directly. */
  startedByNpm: process.env.npm_lifecycle_event !== undefined,
};
