import type { KnownPerson } from '../session/session-events.js';
import { type BaileysSocket, jidDecode } from '../socket/baileys.js';

/** Reports pairs of number and hidden identifier when the library or we store them. */
export function watchNumbers(sock: BaileysSocket, onKnown: (people: KnownPerson[]) => void): void {
  const { lidMapping } = sock.signalRepository;
  const store = lidMapping.storeLIDPNMappings.bind(lidMapping);
  lidMapping.storeLIDPNMappings = async (pairs) => {
    await store(pairs);
    const people = pairs.flatMap(({ lid, pn }) => toPerson(lid, pn) ?? toPerson(pn, lid) ?? []);
    if (people.length > 0) onKnown(people);
  };
}

function toPerson(lid: string, pn: string): KnownPerson | undefined {
  const [hidden, number] = [jidDecode(lid), jidDecode(pn)];
  if (hidden?.server !== 'lid' || number?.server !== 's.whatsapp.net') return undefined;
  return { phone: number.user, hiddenId: `${hidden.user}@lid` };
}
