import type { Stage } from './stage.js';

const LINKS_AT_A_TIME = 6;
const LATE_MS = 40_000;

/** Whose phone links the device of that number. */
export function fleetAccount(index: number): string {
  return String(999_500_000_000 + index);
}

/** Links so many devices, each to an account of its own, and answers with their names when all have been connected. */
export async function linkDevices({ gateway }: Stage, count: number, say: (line: string) => void): Promise<string[]> {
  const devices = Array.from({ length: count }, (_, i) => `fleet-${i}`);
  const left = devices.entries();
  const linkInTurn = async () => {
    for (const [i, device] of left) {
      const link = () => gateway.link(fleetAccount(i), device);
      // A linked device that takes its time on a busy machine must not be linked again.
      await link().catch(() => gateway.waitForStatus('connected', device, LATE_MS).catch(link));
      if (i % 50 === 49) say(`${i + 1} linked`);
    }
  };
  await Promise.all(Array.from({ length: LINKS_AT_A_TIME }, linkInTurn));
  return devices;
}
