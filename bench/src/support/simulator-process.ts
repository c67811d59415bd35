import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sleep } from '@gateway/runtime/clock';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { profileSettings } from '../config.js';

/** Where a simulator is, and how to talk to it. */
export interface SimulatorProcess {
  socketUrl: string;
  adminUrl: string;
  rootPublicKeyHex: string;
  pid: number;
  /** What happened so far: see the simulator's counters. */
  counters(): Promise<Record<string, number>>;
  /** Clients that are connected now. */
  sessions(): Promise<number>;
  setRoundTripMs(ms: number): Promise<void>;
  /** Waits until no receipt is under way any more, so that one measurement leaves nothing to the next. */
  settle(): Promise<void>;
}

/** A stock client neither links nor sends by number on the network of 2026: it is measured on that of 2025. */
export type NetworkProfile = '2025' | '2026';

const MAIN = new URL('../../../services/simulator/dist/main.js', import.meta.url);
/** As `npm run simulator` has them. */
const NODE_FLAGS = ['--single-threaded-gc'];
const SETTLE_MS = 400;

/** Starts the network in a process of its own: in ours it would share the event loop with what is measured. */
export async function startSimulatorProcess(
  lifecycle: Lifecycle,
  { decryptSample, profile = '2026' }: { decryptSample: number; profile?: NetworkProfile },
): Promise<SimulatorProcess> {
  const child = fork(fileURLToPath(MAIN), {
    env: {
      ...profileSettings(),
      SIMULATOR_PROFILE: profile,
      SIMULATOR_DECRYPT_SAMPLE: String(decryptSample),
      SIMULATOR_PORT: '0',
    },
    execArgv: NODE_FLAGS,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  lifecycle.add('simulator', async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  const { socketUrl, adminUrl, rootPublicKeyHex } = JSON.parse(line);
  const counters = async () => (await (await fetch(`${adminUrl}/admin/counters`)).json()) as Record<string, number>;
  const put = (path: string, body: unknown) => fetch(adminUrl + path, { method: 'PUT', body: JSON.stringify(body) });
  return {
    ...{ socketUrl, adminUrl, rootPublicKeyHex, counters, pid: child.pid! },
    sessions: async () => ((await (await fetch(`${adminUrl}/admin/info`)).json()) as { sessions: number }).sessions,
    setRoundTripMs: async (latencyMs) => void (await put('/admin/faults', { latencyMs })),
    settle: async () => {
      for (let before = -1; ; await sleep(SETTLE_MS)) {
        const { acceptedStanzas = 0, readReceipts = 0 } = await counters();
        if (acceptedStanzas + readReceipts === before) return;
        before = acceptedStanzas + readReceipts;
      }
    },
  };
}
