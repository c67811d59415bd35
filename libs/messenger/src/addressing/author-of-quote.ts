import type { ReadyContent } from '@gateway/contracts/content/message-content';
import { jidNormalizedUser } from '../socket/baileys.js';
import type { Namespace } from './addressing-state.js';
import { inNamespace, type StoredNames } from './other-name.js';

/** Known names of people: the account's own, and the pairs in its keys. The network is not asked. */
export interface NameBook {
  own: { id: string; lid?: string } | undefined;
  keys: StoredNames;
}

/** Jid of who wrote the message that a content answers, in `namespace`; the name as it was where the other is not known. */
export async function authorOfQuote(
  { own, keys }: NameBook,
  { quoted }: ReadyContent,
  namespace: Namespace,
): Promise<string | undefined> {
  if (!quoted) return undefined;
  if (!quoted.from) return jidNormalizedUser((namespace === 'lid' && own?.lid) || own?.id);
  return inNamespace(keys, jidNormalizedUser(quoted.from), namespace);
}
