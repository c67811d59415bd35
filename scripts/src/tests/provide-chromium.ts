import { installPackage, outputOf } from '../redis/install-package.js';

/** The same engine without windows, profiles and extensions, which each page of a test would pay for. */
const HEADLESS = 'chromium-headless-shell';
/** The whole browser, by any of its names: where there is no other. */
const WHOLE = ['chromium', 'chromium-browser', 'google-chrome'];

/** The tests of the console's page open it in a browser. Where none can be had, they fail and say so. */
export async function provideChromium(): Promise<void> {
  if (await isThere([HEADLESS])) return;
  if (!(await installPackage({ apt: HEADLESS }))) {
    if (await isThere(WHOLE)) return;
    await installPackage({ apt: 'chromium', brew: 'chromium' });
  }
  // Debian's has no font of its own, and the page has none for what is written in columns.
  await installPackage({ apt: 'fonts-dejavu-core', brew: 'font-dejavu' });
}

async function isThere(programs: readonly string[]): Promise<boolean> {
  const versions = await Promise.all(programs.map((program) => outputOf(program, ['--version'])));
  return versions.some((version) => version !== undefined);
}
