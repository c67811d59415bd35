import { installPackage, outputOf } from '../redis/install-package.js';

/** Metrics are checked by Prometheus' own tool. Where it cannot be had, the test fails and says so. */
export async function providePromtool(): Promise<void> {
  if ((await outputOf('promtool', ['--version'])) !== undefined) return;
  await installPackage({ apt: 'prometheus', brew: 'prometheus', service: 'prometheus' });
}
