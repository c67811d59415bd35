/**
 * Long tests that mostly wait: until a server is called down, an alert's time has passed, a session has run out. Together they take
 * less than a third of a core, so that they keep none of the others from theirs.
 *
 * @public A test looks at it.
 */
export const WAITING = [
  'libs/testkit/test/',
  'scripts/test/alerts-fire.',
  'services/api/test/failover.',
  'services/connection/test/device-life.',
  'services/gateway/test/event-boundaries.',
  'services/gateway/test/redis-stopped.',
];

export function mostlyWaits(file: string): boolean {
  return WAITING.some((part) => file.includes(`/${part}`));
}
