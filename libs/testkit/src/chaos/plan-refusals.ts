import type { Simulator } from '@gateway/simulator/start-simulator';
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
    if (random.next() < 0.5) await setAbsent(simulator, recipient);
    else simulator.network.faults.add({ on: 'message', match: { account: from, recipient }, do: { ackError: 403 } });
  }
  return refused;
}

async function setAbsent(simulator: Simulator, number: string): Promise<void> {
  const response = await fetch(`${simulator.adminUrl}/admin/phones/${number}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ exists: false }),
  });
  if (!response.ok) throw new Error(`phone not set: ${await response.text()}`);
}
