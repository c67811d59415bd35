import { installPackage, outputOf } from '../redis/install-package.js';

/** By any of its names. */
const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome'];

/** The tests of the console's page open it in a browser. Where none can be had, they fail and say so. */
export async function provideChromium(): Promise<void> {
  for (const program of PROGRAMS) if ((await outputOf(program, ['--version'])) !== undefined) return;
  await installPackage({ apt: 'chromium', brew: 'chromium' });
  // Debian's has no font of its own, and the page has none for what is written in columns.
  await installPackage({ apt: 'fonts-dejavu-core', brew: 'font-dejavu' });
}
