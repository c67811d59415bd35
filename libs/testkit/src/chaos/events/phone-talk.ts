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
/** They came by an advertisement: the network has what they write for the phone of the account alone, which is asked for it. */
const LEADS = makeNumbers(2, 910_000);
const LEAD_EVERY = 10;
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
    const { from, place, ...message } = i % LEAD_EVERY === LEAD_EVERY - 1 ? byLead(i) : byPerson(i);
    written.push({ from, platformId: message.id, text: message.text });
    const body = { to: accounts[place % accounts.length], ...message };
    await askSimulator(simulator, `phones/${from}/messages`, { method: 'POST', body });
    await sleep(EVERY_MS, stop).catch(() => {});
  }
}

function byPerson(i: number) {
  const [person, round] = [i % PEOPLE.length, Math.floor(i / PEOPLE.length)];
  const text = WISHES[round % 4] ?? `a person writes ${i}`;
  return { from: PEOPLE[person]!, place: person, id: `TALK${round}`, text };
}

function byLead(i: number) {
  const lead = Math.floor(i / LEAD_EVERY) % LEADS.length;
  return { from: LEADS[lead]!, place: lead, id: `LEAD${i}`, text: `I saw your ad ${i}`, phoneOnly: 'fanout' };
}
