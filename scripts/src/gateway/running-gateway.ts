import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { STATE_FOLDER } from '../paths.js';
import type { Network } from './choose-network.js';

/** What `npm run cli` needs to know of the gateway that `npm start` runs. */
export interface RunningGatewayState {
  pid: number;
  network: Network['kind'];
  env: Record<string, string>;
}

const FILE = `${STATE_FOLDER}/running.json`;

/** Contains the password of Redis and the keys, so no other user may read it. */
export function writeRunningGateway(state: RunningGatewayState): void {
  mkdirSync(STATE_FOLDER, { recursive: true, mode: 0o700 });
  writeFileSync(FILE, JSON.stringify(state), { mode: 0o600 });
}

export function forgetRunningGateway(): void {
  rmSync(FILE, { force: true });
}

/** `undefined` when no gateway runs here: a file whose process is gone does not count. */
export function readRunningGateway(): RunningGatewayState | undefined {
  try {
    const state = JSON.parse(readFileSync(FILE, 'utf8')) as RunningGatewayState;
    process.kill(state.pid, 0);
    return state;
  } catch {
    return undefined;
  }
}
