import { sleep } from '@gateway/runtime/clock';
import type { Simulator } from '@gateway/simulator/start-simulator';
import { makeNumbers } from '../../phones.js';
import { askSimulator } from '../ask-simulator.js';

const PEOPLE = makeNumbers(40, 900_000);
const EVERY_MS = 300;

/**
 * People write to the accounts in turn until they are stopped.
 * @param written gets each text, by the id that its phone gave it.
 */
export async function writeFromPhones(
  simulator: Simulator,
  { accounts, written }: { accounts: readonly string[]; written: Map<string, string> },
  stop: AbortSignal,
): Promise<void> {
  for (let i = written.size; !stop.aborted; i++) {
    const [id, text] = [`TALK${i}`, `a person writes ${i}`];
    written.set(id, text);
    const body = { id, to: accounts[i % accounts.length], text };
    await askSimulator(simulator, `phones/${PEOPLE[i % PEOPLE.length]}/messages`, { method: 'POST', body });
    await sleep(EVERY_MS, stop).catch(() => {});
  }
}
