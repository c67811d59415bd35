import { sleep } from '@gateway/runtime/clock';
import type { SimulatorProcess } from './simulator-process.js';

export interface Downtime {
  /** Of all accounts, how long each was without a connection, all gaps together. */
  meanSeconds: number;
  worstSeconds: number;
}

const LOOK_EVERY_MS = 100;

/** Looks at the network again and again: which accounts have a client that is connected. Gaps are known to a tenth of a second. */
export function watchDowntime({ adminUrl }: SimulatorProcess) {
  const downMs = new Map<string, number>();
  let connected = 0;
  let isOver = false;
  const watch = async () => {
    for (let lookedMs = performance.now(); !isOver; await sleep(LOOK_EVERY_MS)) {
      const accounts = await readAccounts(adminUrl);
      const sinceMs = performance.now() - lookedMs;
      lookedMs += sinceMs;
      connected = 0;
      for (const { number, devices } of accounts) {
        if (devices.length === 0) continue;
        const isDown = !devices.some((device) => device.connected);
        if (!isDown) connected += 1;
        downMs.set(number, (downMs.get(number) ?? 0) + (isDown ? sinceMs : 0));
      }
    }
  };
  const watching = watch();
  return {
    async untilAllAreUp(count: number): Promise<void> {
      while (connected < count) await sleep(LOOK_EVERY_MS);
    },
    async stop(): Promise<Downtime> {
      isOver = true;
      await watching;
      const all = [...downMs.values()].map((ms) => ms / 1000);
      return { meanSeconds: all.reduce((sum, each) => sum + each, 0) / all.length, worstSeconds: Math.max(...all) };
    },
  };
}

interface AccountView {
  number: string;
  devices: { connected: boolean }[];
}

async function readAccounts(adminUrl: string): Promise<AccountView[]> {
  return (await fetch(`${adminUrl}/admin/accounts`)).json() as Promise<AccountView[]>;
}
