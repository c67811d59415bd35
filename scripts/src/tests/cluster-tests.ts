/**
 * What runs on a Redis Cluster as well: every script of the store, and what each endpoint, role and page asks of Redis. Left out is
 * what is about one server: its outages by a proxy, its settings, its memory, and what it is asked; and what runs each script only so
 * that it refuses: it would seem to have run.
 */
const FOLDERS = [
  ...['libs/store', 'libs/fleet', 'libs/queue', 'libs/webhooks'],
  ...['services/cli', 'services/dashboard', 'services/events'],
];
const FILES: Record<string, readonly string[]> = {
  'services/api': [
    ...['check-contacts', 'connect-device', 'device-states', 'disconnect-device', 'idempotency', 'lists', 'messages'],
    ...['opt-outs', 'otp-end-to-end', 'rate-limits', 'replies', 'scopes', 'send-message', 'send-otp', 'show-status'],
    ...['deleted-workspace', 'event-streams', 'events', 'every-answer', 'kept-tokens', 'media', 'webhooks'],
    ...['workspace-limits', 'workspaces'],
  ],
  'services/connection': ['connection-controller', 'owner-gone'],
  'services/sender': ['device-owner', 'result-writer', 'sender-pool', 'steward', 'take-ins', 'wake-up'],
};
const OF_ONE_SERVER = [
  'producer-outage',
  'redis-away',
  'redis-full',
  // How many commands renew the ownerships: one, and on a Cluster one for each shard.
  'ownerships',
  // Its Redis goes away behind a proxy.
  'follow-events',
  'live.test',
  'webhooks/test/deliveries',
  'parked-cost',
  'fences.test',
  'unknown-version',
  'silent.test',
  'model/',
  'browser/',
];

const ON_CLUSTER: readonly string[] = [
  ...FOLDERS.map((folder) => `/${folder}/test/`),
  ...Object.entries(FILES).flatMap(([folder, names]) => names.map((name) => `/${folder}/test/${name}.test.js`)),
];

/**
 * What it goes by, each of which is in the path of a test.
 *
 * @public A test looks at it.
 */
export const CLUSTER_TEST_PARTS = [...ON_CLUSTER, ...OF_ONE_SERVER];

export function isClusterTest(file: string): boolean {
  const isIn = (part: string) => file.includes(part);
  return ON_CLUSTER.some(isIn) && !OF_ONE_SERVER.some(isIn);
}
