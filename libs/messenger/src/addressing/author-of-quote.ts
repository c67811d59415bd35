import type { ReadyContent } from '@gateway/contracts/message-content';
import { type AuthenticationState, jidDecode, jidEncode, jidNormalizedUser } from '../baileys.js';
import type { Namespace } from './addressing-state.js';

/** What is known of the names of people: the account's own, and the pairs in its keys. The network is not asked. */
export interface NameBook {
  own: { id: string; lid?: string } | undefined;
  keys: Pick<AuthenticationState['keys'], 'get'>;
}

/** Jid of who wrote the message that a content answers, in `namespace`; the name as it was where the other is not known. */
export async function authorOfQuote(
  { own, keys }: NameBook,
  { quoted }: ReadyContent,
  namespace: Namespace,
): Promise<string | undefined> {
  if (!quoted) return undefined;
  if (!quoted.from) return jidNormalizedUser((namespace === 'lid' && own?.lid) || own?.id);
  const { user, server } = jidDecode(quoted.from) ?? {};
  const isLid = server === 'lid';
  if (!user || isLid === (namespace === 'lid')) return jidNormalizedUser(quoted.from);
  const id = isLid ? `${user}_reverse` : user;
  const { [id]: other } = await keys.get('lid-mapping', [id]);
  return other ? jidEncode(other, isLid ? 's.whatsapp.net' : 'lid') : jidNormalizedUser(quoted.from);
}
