import { sleep } from '@gateway/runtime/clock';
import type { Simulator } from '@gateway/simulator/start-simulator';
import { makeNumbers } from '../../phones.js';

const PEOPLE = makeNumbers(40, 900_000);
const EVERY_MS = 300;

/**
 * People write to the accounts in turn until they are stopped.
 * @param written gets each text, by the id that its phone gave it.
 */
export async function writeFromPhones(
  { adminUrl }: Simulator,
  { accounts, written }: { accounts: readonly string[]; written: Map<string, string> },
  stop: AbortSignal,
): Promise<void> {
  for (let i = written.size; !stop.aborted; i++) {
    const [id, text] = [`TALK${i}`, `a person writes ${i}`];
    written.set(id, text);
    const message = { id, to: accounts[i % accounts.length], text };
    await postSurely(`${adminUrl}/admin/phones/${PEOPLE[i % PEOPLE.length]}/messages`, message);
    await sleep(EVERY_MS, stop).catch(() => {});
  }
}

/** Where sockets are cut, so may be this one: the same message again is none more. */
async function postSurely(url: string, body: object): Promise<void> {
  for (;;) {
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) }).catch(() => undefined);
    if (response?.ok) return;
    if (response) throw new Error(`not written: ${await response.text()}`);
  }
}
