import type { Simulator } from '@gateway/simulator/start-simulator';
import { askSimulator } from './ask-simulator.js';
import type { Random } from './random.js';

const SHARE = 0.01;

/**
 * Chooses the recipients of a list who are not to get it, one in a hundred: the network refuses them for good, or they
 * are not on the messenger. Theirs are the only messages of a run that may fail.
 */
export async function planRefusals(
  simulator: Simulator,
  random: Random,
  { from, to }: { from: string; to: readonly string[] },
): Promise<ReadonlySet<string>> {
  const refused = new Set<string>();
  for (const recipient of to) {
    if (random.next() >= SHARE) continue;
    refused.add(recipient);
    if (random.next() < 0.5)
      await askSimulator(simulator, `phones/${recipient}`, { method: 'PUT', body: { exists: false } });
    else simulator.network.faults.add({ on: 'message', match: { account: from, recipient }, do: { ackError: 403 } });
  }
  return refused;
}
