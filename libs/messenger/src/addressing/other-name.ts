import { type AuthenticationState, jidDecode, jidEncode } from '../socket/baileys.js';
import type { Namespace } from './addressing-state.js';

/** The pairs of names in an account's keys. */
export type StoredNames = Pick<AuthenticationState['keys'], 'get'>;

type JidServer = Parameters<typeof jidEncode>[1];

/** The jid of the same device in the other namespace. */
const OTHER_SERVER: ReadonlyMap<string, { namespace: Namespace; other: JidServer }> = new Map([
  ['s.whatsapp.net', { namespace: 'pn', other: 'lid' }],
  ['hosted', { namespace: 'pn', other: 'hosted.lid' }],
  ['lid', { namespace: 'lid', other: 's.whatsapp.net' }],
  ['hosted.lid', { namespace: 'lid', other: 'hosted' }],
]);

/** A jid of a person or of one of their devices, in `namespace`; as it was where the other name is not known. */
export async function inNamespace(keys: StoredNames, jid: string, namespace: Namespace): Promise<string> {
  const { user, server, device } = jidDecode(jid) ?? {};
  const named = OTHER_SERVER.get(server ?? '');
  if (!user || !named || named.namespace === namespace) return jid;
  const id = named.namespace === 'lid' ? `${user}_reverse` : user;
  const { [id]: other } = await keys.get('lid-mapping', [id]);
  return other ? jidEncode(other, named.other, device) : jid;
}
