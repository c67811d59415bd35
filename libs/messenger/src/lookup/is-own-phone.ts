import { jidDecode, jidNormalizedUser } from '../socket/baileys.js';

/** The account's own number and hidden identifier, as users of jids. */
export function ownUsers(me: { id: string; lid?: string } | undefined): Set<string | undefined> {
  return new Set([jidDecode(me?.id)?.user, jidDecode(me?.lid)?.user]);
}

/**
 * Whether a jid is the account's own phone, by either of its names, and not a linked device of it. With the server: the
 * digits of a hidden identifier may be those of a number.
 */
export function isOwnPhone(me: { id: string; lid?: string } | undefined, jid: string): boolean {
  const isOurs = [me?.id, me?.lid].some((own) => own && jidNormalizedUser(own) === jidNormalizedUser(jid));
  return isOurs && !jidDecode(jid)?.device;
}
