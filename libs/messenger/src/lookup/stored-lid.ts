import { spellingsOf } from '@gateway/contracts/people/phone-number';
import { type BaileysSocket, jidDecode, jidEncode } from '../socket/baileys.js';

/**
 * The hidden identifier that the keys have for a number. The network is not asked.
 * @param jid of the number as the network writes it, where that is known; else each way to write it is tried.
 */
export async function storedLidOf(
  { authState }: BaileysSocket,
  number: string,
  jid: string | undefined,
): Promise<string | undefined> {
  const known = jidDecode(jid)?.user;
  const users = known === undefined ? spellingsOf(number) : [known];
  const lids = (await authState.keys.get('lid-mapping', [...users])) as Record<string, string | undefined>;
  const user = users.map((each) => lids[each]).find((lid) => lid !== undefined);
  return user && jidEncode(user, 'lid');
}
