import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The engine alone at the front: `npm test` installs it. */
const PROGRAMS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
const FOLDERS = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin', '/snap/bin'];

/** Where the browser is that opens pages of the console. Throws where there is none. */
export function findChromium(): string {
  const paths = PROGRAMS.flatMap((program) => FOLDERS.map((folder) => join(folder, program)));
  const found = paths.find((path) => existsSync(path));
  if (!found) throw new Error('Pages of the console need a browser: install chromium, or run `npm test` once');
  return found;
}
