/** What was typed or pasted. Of a token only its key id is known from here on. */
export type FindQuery =
  | { kind: 'token'; keyId: string }
  | { kind: 'message'; id: string }
  | { kind: 'networkId'; id: string }
  | { kind: 'phone'; phone: string }
  | { kind: 'words'; text: string };

/** A token, also one that was cut off on its way here, or has something around it. */
const TOKEN = /gw_([0-9a-z]{16})_\w*/i;
const MESSAGE = /^msg_\w+$/;
const NETWORK_ID = /^3EB0[0-9A-F]{18}$/i;
const PHONE = /^\+?[\d\s\-.()/]{7,25}$/;

export function readQuery(typed: string): FindQuery {
  const text = typed.trim();
  const keyId = TOKEN.exec(text)?.[1];
  if (keyId !== undefined) return { kind: 'token', keyId: keyId.toLowerCase() };
  if (MESSAGE.test(text)) return { kind: 'message', id: text };
  if (NETWORK_ID.test(text)) return { kind: 'networkId', id: text.toUpperCase() };
  if (PHONE.test(text) && text.replace(/\D/g, '').length >= 7) return { kind: 'phone', phone: text };
  return { kind: 'words', text: text.toLowerCase() };
}

/** What stays of it on the screen: of a token the key id. */
export function withoutSecret(typed: string): string {
  const query = readQuery(typed);
  return query.kind === 'token' ? `gw_${query.keyId}_` : typed;
}
