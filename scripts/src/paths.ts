import { fileURLToPath } from 'node:url';

/** The root of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What the launcher keeps between runs: data of `npm start`, keys, logs of failed demos. */
export const STATE_FOLDER = `${ROOT}.gateway`;

export const CLI_MODULE = 'services/cli/dist/main.js';
export const GATEWAY_MODULE = 'services/gateway/dist/main.js';
export const SIMULATOR_MODULE = 'services/simulator/dist/main.js';
