import { installPackage, outputOf } from '../redis/install-package.js';

/** Metrics and alerts are checked by Prometheus and its own tool, which come together. Where they cannot be had, the tests fail and say so. */
export async function providePromtool(): Promise<void> {
  if ((await outputOf('promtool', ['--version'])) !== undefined) return;
  await installPackage({ apt: 'prometheus', brew: 'prometheus', service: 'prometheus' });
}
