import { type BinaryNode, getAllBinaryNodeChildren, getBinaryNodeChildren } from '../socket/baileys.js';

export interface Receipt {
  platformIds: string[];
  kind: 'delivered' | 'read';
  atMs: number;
}

/**
 * What a receipt says of our messages. No type means "delivered", as does `inactive` (a device that is not in use).
 * `sender` and `read-self` come from our own account's other devices, `retry` is answered by the library, and the
 * rest is about history and peers.
 */
const KINDS = new Map<string, Receipt['kind']>([
  ['delivered', 'delivered'],
  ['inactive', 'delivered'],
  ['read', 'read'],
  ['played', 'read'],
]);

/** `undefined` for a receipt that says nothing about how far our messages got. */
export function readReceipt(node: BinaryNode, nowMs: number): Receipt | undefined {
  const { id, type = 'delivered', t } = node.attrs;
  const kind = KINDS.get(type);
  if (!kind || !id) return undefined;
  const more = getAllBinaryNodeChildren(node).flatMap((list) => getBinaryNodeChildren(list, 'item'));
  const platformIds = [id, ...more.map(({ attrs }) => attrs.id)].filter((item) => item !== undefined);
  return { platformIds, kind, atMs: Number(t) > 0 ? Number(t) * 1000 : nowMs };
}
