import { announceMapping } from '../announcements/change-addressing.js';
import type { Directory } from '../directory/directory.js';
import type { Server } from '../stanzas/stanza-context.js';
import type { PhoneBody } from './admin-bodies.js';
import { AdminError } from './http-router.js';

/** Who is meant in a path: a number, or `lid:<digits>` for a person without one, who exists from the first mention on. */
export function personIn(directory: Directory, name: string): string {
  const digits = /^lid:(\d{5,15})$/.exec(name)?.[1];
  return digits ? directory.identities.addWithoutNumber(digits) : directory.personNamed(name);
}

/** Changes what a phone is and does; answers how it is now. */
export async function changePhone(server: Server, person: string, change: PhoneBody): Promise<object> {
  const { network, office } = server;
  const { exists, staleLid, number, ...habits } = change;
  if (number !== undefined) await reveal(server, person, number);
  if (exists !== undefined) network.directory.setExists(person, exists);
  if (staleLid) network.directory.renewLid(person);
  if (staleLid) network.staleLids.mark(person);
  else if (staleLid === false) network.staleLids.clear(person);
  network.phones.setHabits(person, habits);
  if (habits.online) office.phones.wake(person);
  if (habits.online !== undefined) network.presences.tell(person, habits.online);
  return phoneView(server, person);
}

export function phoneView({ network: { directory, phones } }: Server, person: string): object {
  const lid = directory.jidOf(person, 'lid');
  return { number: person, exists: directory.exists(person), lid, ...phones.habitsOf(person) };
}

async function reveal({ network, office }: Server, person: string, number: string): Promise<void> {
  const { directory, phones, accounts } = network;
  const isTaken = directory.personNamed(number) !== number || phones.known(number) || accounts.find(number);
  if (directory.numberOf(person) !== undefined) throw new AdminError(409, 'has a number');
  if (isTaken) throw new AdminError(409, 'number is in use');
  directory.identities.reveal(person, number);
  await announceMapping(network, office, person);
}
