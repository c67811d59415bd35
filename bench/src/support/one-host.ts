import { readResidentBytes } from './process-usage.js';
import type { Stage } from './stage.js';

/** A gateway with all its roles on one machine, as `npm start` runs it: today a process for each. */
export interface OneHost {
  /** Resident, of all its processes. */
  residentBytes(): number;
  /** SIGKILL for whatever holds the device's socket. */
  kill(): Promise<void>;
  /** Starts again, with the settings of before, what was killed. Resolves when it is ready. */
  restart(): Promise<void>;
}

export function oneHost({ gateway }: Stage): OneHost {
  return {
    residentBytes: () => {
      const running = [gateway.api, ...gateway.connections, ...gateway.senders].filter(({ isRunning }) => isRunning);
      return running.reduce((sum, { pid }) => sum + readResidentBytes(pid), 0);
    },
    kill: () => gateway.senders.at(-1)!.kill(),
    restart: async () => void (await gateway.addSender()),
  };
}
