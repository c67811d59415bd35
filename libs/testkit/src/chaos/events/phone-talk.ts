import { sleep } from '@gateway/runtime/clock';
import type { Simulator } from '@gateway/simulator/start-simulator';
import { makeNumbers } from '../../phones.js';
import { askSimulator } from '../ask-simulator.js';
import type { Written } from './account-for-events.js';

/**
 * Few, so that the next message of one comes while the last one is on its way; and no more than may write to one device under the same
 * id (received-id.ts).
 */
const PEOPLE = makeNumbers(8, 900_000);
/** What each wants, every fourth time. */
const WISHES: Readonly<Record<number, string>> = { 1: 'stop', 3: 'start' };
const EVERY_MS = 100;

/**
 * People write in turn until they are stopped, each to one account; now and then that they want no more messages, or messages again. All
 * of their phones count their messages alike.
 * @param written gets each of them.
 */
export async function writeFromPhones(
  simulator: Simulator,
  { accounts, written }: { accounts: readonly string[]; written: Written[] },
  stop: AbortSignal,
): Promise<void> {
  for (let i = written.length; !stop.aborted; i++) {
    const [person, round] = [i % PEOPLE.length, Math.floor(i / PEOPLE.length)];
    const [from, platformId] = [PEOPLE[person]!, `TALK${round}`];
    const text = WISHES[round % 4] ?? `a person writes ${i}`;
    written.push({ from, platformId, text });
    const body = { id: platformId, to: accounts[person % accounts.length], text };
    await askSimulator(simulator, `phones/${from}/messages`, { method: 'POST', body });
    await sleep(EVERY_MS, stop).catch(() => {});
  }
}
